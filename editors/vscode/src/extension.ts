import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

async function start(): Promise<void> {
  const command = vscode.workspace.getConfiguration("pintle").get<string>("path", "pintle");
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "helm" },
      { language: "yaml", pattern: "**/{Chart,values*}.yaml" },
      { language: "yaml", pattern: "**/ci/*-values.yaml" },
      { language: "yaml", pattern: "**/*_test.yaml" },
      { scheme: "pintle-chart" },
    ],
  };
  client = new LanguageClient("pintle", "Pintle", server, options);
  await client.start();
}

/** Shows files of archives, which are not on disk. */
class Archives implements vscode.TextDocumentContentProvider {
  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const answer = await client?.sendRequest<{ text: string }>("workspace/textDocumentContent", { uri: uri.toString(true) });
    return answer?.text ?? "";
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider("pintle-chart", new Archives()),
    vscode.commands.registerCommand("pintle.restart", async () => {
      await client?.stop();
      await start();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
