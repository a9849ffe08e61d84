import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

interface Outcome {
  summary: string;
  error: string | null;
  tests: { name: string; passed: boolean; skipped: boolean; message: string }[];
}

const output = vscode.window.createOutputChannel("Pintle tests");

/** Runs the tests of a suite as it is in the editor, and shows how they ended. */
export async function runTests(client: LanguageClient, uri: string): Promise<void> {
  const outcome = await client.sendRequest<Outcome>("workspace/executeCommand", { command: "pintle.runTests", arguments: [uri] });
  const failed = outcome.tests.filter((test) => !test.passed);
  if (!outcome.error && failed.length === 0) {
    vscode.window.setStatusBarMessage(`Tests: ${outcome.summary}`, 5000);
    return;
  }
  output.clear();
  output.appendLine(outcome.error ?? outcome.summary);
  for (const test of failed) {
    output.appendLine(`\n${test.name}\n${test.message}`);
  }
  output.show(true);
}
