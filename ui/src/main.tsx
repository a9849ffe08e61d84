import { render } from "preact";
import { App } from "./app.tsx";
import * as keys from "./keys.ts";
import * as router from "./router.ts";
import { loadRequests, loadSession, session, startClock, startTheme } from "./state.ts";

startTheme();
router.start();
keys.start();
startClock();
render(<App />, document.getElementById("app")!);
void loadSession().then(() => {
  // Which releases wait for approval is shown in the list; a cluster without the controller has none.
  if (session.peek()?.features?.includes("requests") ?? true) loadRequests().catch(() => undefined);
});
