import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

interface Preview {
  uri: string;
  scenario: string;
  text: string;
}

interface Place {
  uri: string;
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
}

interface Scenarios {
  chosen: string;
  scenarios: { name: string; label: string }[];
  problems: string[];
}

/** What templates render, beside them; the cursor is followed in both directions. */
export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly change = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.change.event;
  /** The rendered document of each template, by their addresses. */
  private readonly shown = new Map<string, string>();
  private readonly mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
  });
  private readonly parts: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly client: () => LanguageClient) {
    this.parts = [
      this.change,
      this.mark,
      vscode.workspace.registerTextDocumentContentProvider("pintle-rendered", this),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        // The last of several moves in a row is what counts.
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.follow(event.textEditor), 60);
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.parts.forEach((part) => part.dispose());
  }

  /** The server has rendered a chart again. */
  changed(uri: string): void {
    this.change.fire(vscode.Uri.parse(uri));
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const answer = await this.client().sendRequest<{ text: string }>("workspace/textDocumentContent", { uri: uri.toString(true) });
    return answer.text;
  }

  async show(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme === "pintle-rendered") {
      return;
    }
    const source = editor.document.uri.toString();
    try {
      const preview = await this.client().sendRequest<Preview>("pintle/preview", { textDocument: { uri: source } });
      this.shown.set(source, preview.uri);
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(preview.uri));
      await vscode.languages.setTextDocumentLanguage(document, "yaml");
      await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
      await this.follow(editor);
    } catch (error) {
      void vscode.window.showErrorMessage(`Pintle: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Chooses the values of previews and hints. */
  async choose(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) {
      return;
    }
    const textDocument = { uri: editor.document.uri.toString() };
    const listed = await this.client().sendRequest<Scenarios | null>("pintle/scenarios", { textDocument });
    if (!listed) {
      return;
    }
    listed.problems.forEach((problem) => void vscode.window.showWarningMessage(`Pintle: ${problem}`));
    const items = listed.scenarios.map(({ name, label }) => ({ label, name, picked: name === listed.chosen }));
    const picked = await vscode.window.showQuickPick(items, { title: "Values of previews and hints" });
    if (!picked) {
      return;
    }
    await this.client().sendRequest("pintle/scenarios", { textDocument, choose: picked.name });
    if (this.shown.has(textDocument.uri)) {
      await this.show();
    }
  }

  /** Shows why the line under the cursor of a rendered document is there. */
  async explain(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== "pintle-rendered") {
      return;
    }
    const params = { textDocument: { uri: editor.document.uri.toString(true) }, position: editor.selection.active };
    const answer = await this.client().sendRequest<{ contents: { value: string } } | null>("pintle/explain", params);
    const text = answer?.contents.value ?? "Nothing is known about this line.";
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: text });
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }

  /** Marks what belongs to the cursor in the other document. */
  private async follow(editor: vscode.TextEditor): Promise<void> {
    const own = editor.document.uri;
    const from = own.toString(own.scheme === "pintle-rendered");
    const visible = vscode.window.visibleTextEditors;
    const rendered = visible.find((other) => other.document.uri.scheme === "pintle-rendered");
    if (!rendered || editor !== vscode.window.activeTextEditor) {
      return;
    }
    const params = { textDocument: { uri: from }, position: editor.selection.active, preview: rendered.document.uri.toString(true) };
    const answer = await this.client().sendRequest<{ targets: Place[] }>("pintle/previewMap", params).catch(() => undefined);
    const targets = answer?.targets ?? [];
    for (const other of visible.filter((other) => other !== editor)) {
      const known = other.document.uri.toString();
      const here = targets.filter((target) => vscode.Uri.parse(target.uri).toString() === known);
      const ranges = here.map(({ range }) => new vscode.Range(range.start.line, 0, range.end.line, 0));
      other.setDecorations(this.mark, ranges);
      if (ranges.length > 0) {
        other.revealRange(ranges[ranges.length - 1], vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    }
  }
}
