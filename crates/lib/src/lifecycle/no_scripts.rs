//! Replaces `scripts` in builds without the feature `lua`: charts are treated as if they had no scripts, as by a
//! program that does not enable scripting.

use pintle_chart::Chart;
use pintle_events::Event;

use super::Lifecycle;
use crate::{Reporter, Result};

impl Lifecycle {
    pub(crate) fn report(&self, _reporter: &mut dyn Reporter) {}

    pub(crate) fn with_scripts_of(&self, _chart: &Chart, _events: &[Event]) -> Result<Lifecycle> {
        Ok(self.clone())
    }

    pub(crate) fn may_run_scripts(&self) -> bool {
        false
    }
}

#[cfg(feature = "cluster")]
mod session {
    //! Operations on a cluster, with the signatures of the module that is replaced.

    use std::time::Duration;

    use pintle_chart::Chart;
    use pintle_events::Event;
    use pintle_release::ReleaseVersion;

    use super::Lifecycle;
    use crate::{Result, Session};

    pub(crate) struct ScriptContext<'a> {
        pub(crate) release: &'a str,
        pub(crate) namespace: &'a str,
        pub(crate) remember: bool,
        pub(crate) wait: Duration,
        pub(crate) events: Option<&'static [Event]>,
    }

    impl Lifecycle {
        pub(crate) fn granted_list(&self) -> String {
            String::new()
        }

        pub(crate) fn effects(&self, event: Event) -> Option<String> {
            self.listens(event).then(|| "they belong to the program".to_owned())
        }

        pub(crate) fn may_use_network(&self) -> bool {
            false
        }

        pub(crate) fn listens_to_list_events(&self) -> bool {
            false
        }

        pub(crate) fn scripts_only(&self) -> Lifecycle {
            Lifecycle::default()
        }
    }

    impl Session {
        pub(crate) async fn with_chart_scripts(
            &self,
            _chart: &Chart,
            context: ScriptContext<'_>,
        ) -> Result<Session> {
            let ScriptContext { release: _, namespace: _, remember: _, wait: _, events: _ } = context;
            Ok(self.clone())
        }

        pub(crate) async fn with_stored_scripts(
            &self,
            _version: &ReleaseVersion,
            _wait: Duration,
            _events: &'static [Event],
        ) -> Result<Session> {
            Ok(self.clone())
        }
    }
}

#[cfg(feature = "cluster")]
pub(crate) use session::ScriptContext;
