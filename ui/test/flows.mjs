// Flows against `pintle ui` itself, on an embedded cluster with the release `web` of `examples/charts/web` in the namespace `shop`,
// whose second revision has three replicas. They change it, so they go on from each other.

import assert from "node:assert/strict";

export async function flows({ browser, test, visit, settled, axe, hostile, link, chart }) {
  const origin = new URL(link).origin;
  let session;
  await test("the address that pintle prints signs in, and only once", async () => {
    session = await visit(browser, {}, async (page, context) => {
      await page.goto(link);
      await page.getByRole("link", { name: "web", exact: true }).waitFor();
      assert.ok(!page.url().includes("t="), "the token does not stay in the address");
      return context.storageState();
    });
    await visit(browser, {}, async (page) => {
      await page.goto(link);
      await page.goto(origin);
      await page.getByRole("heading", { name: "Open the address that pintle printed" }).waitFor();
    });
  });
  if (!session) return;
  const flow = (name, run) => test(name, () => visit(browser, { storageState: session }, (page, context) => run(page, context)));
  const open = async (page, path) => {
    await page.goto(origin + path);
    await settled(page);
  };

  await flow("the release has its objects with readiness, details and owners", async (page) => {
    await open(page, "/");
    await page.keyboard.press("/");
    await page.keyboard.type("ns:shop");
    await page.keyboard.press("Enter");
    await page.getByText(/objects are ready/).waitFor();
    await page.getByRole("link", { name: "Deployment web" }).click();
    const detail = page.getByRole("complementary", { name: "Deployment web" });
    await detail.getByText("replicas", { exact: true }).first().waitFor();
    await page.getByText("ReplicaSet").first().waitFor();
    await axe(page, "objects of a real release");
  });

  await flow("revisions are compared with each other and with the cluster", async (page) => {
    await open(page, "/releases/shop/web/revisions");
    await page.getByRole("link", { name: "What changed in revision 2" }).click();
    await page.getByText("Deployment").first().waitFor();
    const marks = page.locator(".diff .added mark");
    await marks.first().waitFor();
    assert.ok((await marks.allTextContents()).includes("3"));
    await page.getByRole("combobox", { name: /^To/ }).selectOption("live");
    await page.getByRole("heading", { name: "Nothing has drifted" }).waitFor();
    await axe(page, "comparison");
  });

  await flow("a rendered line leads to its template and value, and the value to its lines", async (page) => {
    await open(page, "/releases/shop/web/manifest");
    await page.getByRole("link", { name: "Deployment web" }).click();
    await page.getByRole("option", { name: "replicas: 3" }).click();
    await page.getByText("{{ .Values.replicas }}").first().waitFor();
    await page.locator(".value-card a").first().click();
    await page.getByRole("heading", { name: "Lines that it reaches" }).waitFor();
    await page.locator(".reached a").filter({ hasText: "replicas: 3" }).waitFor();
    await axe(page, "values");
  });

  await flow("notes, images, hooks and logs of the release are shown", async (page) => {
    await open(page, "/releases/shop/web/images");
    await page.getByText(/nginx/).first().waitFor();
    await open(page, "/releases/shop/web/hooks");
    await page.getByRole("heading", { name: "Tests" }).waitFor();
    await open(page, "/releases/shop/web/notes");
    await page.locator("pre.notes").waitFor();
    await open(page, "/releases/shop/web/logs");
    await page.getByLabel("Object").waitFor();
  });

  await flow("values are changed in the form, planned while typing, and applied with progress", async (page) => {
    await open(page, "/releases/shop/web/change");
    await needsChart(page, chart);
    await page.getByLabel("replicas").fill("4");
    await page.locator(".bench-plan .added", { hasText: "replicas: 4" }).waitFor();
    await page.getByText("The same on the command line").waitFor();
    await axe(page, "change of values");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForURL("**/operations/*");
    await page.locator("h1 .status", { hasText: "succeeded" }).waitFor();
    await axe(page, "operation");
    await page.getByRole("link", { name: "To the release" }).click();
    await page.locator(".facts", { hasText: "3" }).first().waitFor();
  });

  await flow("values that the schema refuses are refused in its words, and cannot be applied", async (page) => {
    await open(page, "/releases/shop/web/change");
    await needsChart(page, chart);
    await page.getByRole("button", { name: "YAML" }).click();
    await page.getByLabel("Values as YAML").fill("replicas: many\n");
    await page.getByRole("alert").filter({ hasText: "replicas" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Apply" }).getAttribute("aria-disabled"), "true");
  });

  await flow("a change is rehearsed, and its report is shown", async (page) => {
    await open(page, "/releases/shop/web/change");
    await needsChart(page, chart);
    await page.locator(".plan").waitFor();
    await page.getByRole("button", { name: "Rehearse" }).click();
    await page.waitForURL("**/operations/*");
    await page.getByRole("heading", { name: "Report of the rehearsal" }).waitFor();
    await axe(page, "rehearsal");
  });

  await flow("the release is rolled back to its first revision", async (page) => {
    await open(page, "/releases/shop/web/rollback?to=1");
    await page.locator(".plan .added", { hasText: "replicas: 2" }).waitFor();
    await page.getByRole("button", { name: "Roll back to 1" }).click();
    await page.waitForURL("**/operations/*");
    await page.locator("h1 .status", { hasText: "succeeded" }).waitFor();
  });

  await flow("a chart is installed, and another window sees it come", async (page, context) => {
    const other = await context.newPage();
    await other.goto(origin);
    await settled(other);
    await open(page, "/install");
    await page.getByLabel("Chart", { exact: true }).fill(chart);
    await page.getByRole("button", { name: "Use this chart" }).click();
    assert.equal(await page.getByLabel("Namespace", { exact: true }).inputValue(), "default", "where the kubeconfig names none");
    await page.getByLabel("Name of the release").fill("second");
    await page.getByLabel("Namespace", { exact: true }).fill("shop");
    await page.locator(".plan .chip.plus").waitFor();
    await page.getByRole("button", { name: "Install", exact: true }).click();
    await page.waitForURL("**/operations/*");
    await page.locator("h1 .status", { hasText: "succeeded" }).waitFor();
    await other.getByRole("link", { name: "second", exact: true }).waitFor();
  });

  await flow("a release is uninstalled after its name was typed, and goes from the list", async (page) => {
    await open(page, "/releases/shop/second/uninstall");
    await page.locator(".plan .action.minus").first().waitFor();
    const button = page.getByRole("group", { name: "Actions" }).getByRole("button", { name: "Uninstall" });
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    await page.getByLabel("Type second to confirm").fill("second");
    await button.click();
    await page.waitForURL("**/operations/*");
    await page.locator("h1 .status", { hasText: "succeeded" }).waitFor();
    await open(page, "/");
    await page.getByRole("link", { name: "web", exact: true }).waitFor();
    assert.equal(await page.getByRole("link", { name: "second", exact: true }).count(), 0);
  });

  await flow("charts, requests and operations are shown, also where there are none", async (page) => {
    for (const [path, title] of [["/charts", "Charts"], ["/requests", "Requests"], ["/operations", "Operations"]]) {
      await open(page, path);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      assert.equal(await page.getByRole("alert").count(), 0, `${path} has no error`);
      await axe(page, path);
    }
  });

  await flow("a page of another origin reads and changes nothing", async (page, context) => {
    await open(page, "/");
    assert.deepEqual(await hostile(context, origin), []);
    // By another name of the same address, as after DNS rebinding, not even the page is given.
    const { port } = new URL(origin);
    const rebound = await context.request.get(`${origin}/api/v1/releases`, { headers: { Host: `evil.example:${port}` } }).catch(() => undefined);
    assert.ok(rebound === undefined || rebound.status() === 403, `the answer to another Host is ${rebound?.status()}`);
    await open(page, "/");
    await page.getByRole("link", { name: "web", exact: true }).waitFor();
  });
}

/** Where the chart of the release cannot be found again, the page asks for one. */
async function needsChart(page, chart) {
  const plan = page.locator(".plan").first();
  const question = page.locator(".bench-plan").getByLabel("Chart", { exact: true });
  await plan.or(question).first().waitFor();
  if (await question.isVisible()) {
    await question.fill(chart);
    await page.locator(".bench-plan").getByRole("button", { name: "Use this chart" }).click();
    await plan.waitFor();
  }
}
