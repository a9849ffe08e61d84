import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { Previews } from "./preview";
import { runTests } from "./tests";

let client: LanguageClient | undefined;

/** The client, once the server is there. */
function running(): LanguageClient {
  if (!client) {
    throw new Error("the language server is not running; is `pintle` on the PATH, or `pintle.path` set?");
  }
  return client;
}

function settings(): object {
  const all = vscode.workspace.getConfiguration("pintle");
  return { scenarios: all.get("scenarios", {}), formatting: all.get("formatting", false) };
}

async function start(previews: Previews): Promise<void> {
  const command = vscode.workspace.getConfiguration("pintle").get<string>("path", "pintle");
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "helm" },
      { language: "yaml", pattern: "**/{Chart,values*}.yaml" },
      { language: "yaml", pattern: "**/ci/*-values.yaml" },
      { language: "yaml", pattern: "**/*_test.yaml" },
      { language: "lua", pattern: "**/ext/lua/**/*.lua" },
      { scheme: "pintle-chart" },
    ],
    initializationOptions: settings(),
  };
  client = new LanguageClient("pintle", "Pintle", server, options);
  client.onNotification("pintle/previewChanged", ({ uri }: { uri: string }) => previews.changed(uri));
  await client.start();
}

/** Shows files of archives, which are not on disk. */
class Archives implements vscode.TextDocumentContentProvider {
  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const answer = await running().sendRequest<{ text: string }>("workspace/textDocumentContent", { uri: uri.toString(true) });
    return answer.text;
  }
}

/** The locations that a lens has counted. */
async function showReferences(uri: string, at: { line: number; character: number }, found: unknown[]): Promise<void> {
  const convert = running().protocol2CodeConverter;
  const places = found.map((place) => convert.asLocation(place as Parameters<typeof convert.asLocation>[0]));
  const position = new vscode.Position(at.line, at.character);
  await vscode.commands.executeCommand("editor.action.showReferences", vscode.Uri.parse(uri), position, places);
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const previews = new Previews(running);
  const register = (name: string, run: (...words: never[]) => unknown) => vscode.commands.registerCommand(name, run);
  context.subscriptions.push(
    previews,
    vscode.workspace.registerTextDocumentContentProvider("pintle-chart", new Archives()),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("pintle")) {
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: { pintle: settings() } });
      }
    }),
    register("pintle.restart", async () => {
      await client?.stop();
      await start(previews);
    }),
    register("pintle.preview", () => previews.show()),
    register("pintle.chooseScenario", () => previews.choose()),
    register("pintle.explain", () => previews.explain()),
    register("pintle.showReferences", showReferences),
    register("pintle.testSuite", async () => {
      const uri = vscode.window.activeTextEditor?.document.uri;
      if (uri) {
        await runTests(running(), uri.toString());
      }
    }),
  );
  await start(previews);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
