//! Registers handlers and calls them in a deterministic order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chart_path::ChartPath;
use crate::context::Context;
use crate::error::{Error, HandlerError, Result};
use crate::event::Event;
use crate::handler::{Handler, HandlerId, Registration, Wrapper};

/// All handlers of an operation.
///
/// A clone calls the same handlers, but later registrations do not affect the original: so an operation adds the
/// handlers of its chart to those of the program.
#[derive(Clone, Default)]
pub struct Emitter {
    /// The handlers of each event, in calling order.
    handlers: BTreeMap<Event, Vec<Registered>>,
    silenced: BTreeSet<(ChartPath, Event)>,
    /// In the order of registration; later wrappers enclose earlier ones.
    wrappers: Vec<Wrapping>,
    next: u64,
}

#[derive(Clone)]
struct Registered {
    id: HandlerId,
    weight: f64,
    chart: ChartPath,
    location: String,
    handler: Arc<Mutex<Handler>>,
}

#[derive(Clone)]
struct Wrapping {
    event: Event,
    chart: ChartPath,
    wrapper: Arc<Mutex<Wrapper>>,
}

/// Locks, ignoring poisoning: the panic has already reached the caller.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Emitter {
    /// Returns an emitter without handlers.
    pub fn new() -> Self {
        Emitter::default()
    }

    /// Registers a handler.
    ///
    /// Handlers are called by weight, then subcharts before their parents, then in the order of registration.
    ///
    /// # Errors
    /// When there is no such event, when it is a core event, or when the weight is not between 0 and 1.
    pub fn on(&mut self, registration: Registration<'_>, handler: Handler) -> Result<HandlerId> {
        let Registration { event, weight, chart, location } = registration;
        let event = Event::for_handlers(event)?;
        if !(0.0..=1.0).contains(&weight) {
            return Err(Error::Weight { event, weight });
        }
        // Negative zero would sort before zero.
        let weight = weight.abs();
        let id = HandlerId(self.next);
        self.next += 1;
        let handlers = self.handlers.entry(event).or_default();
        let before = |other: &Registered| {
            other.weight.total_cmp(&weight).then_with(|| other.chart.cmp(&chart)).is_le()
        };
        let turn = handlers.partition_point(before);
        let handler = Arc::new(Mutex::new(handler));
        handlers.insert(turn, Registered { id, weight, chart, location, handler });
        Ok(id)
    }

    /// Removes a handler, and returns whether it existed.
    pub fn off(&mut self, id: HandlerId) -> bool {
        for handlers in self.handlers.values_mut() {
            if let Some(index) = handlers.iter().position(|registered| registered.id == id) {
                handlers.remove(index);
                return true;
            }
        }
        false
    }

    /// Access to the handlers of `parent`'s subchart `name`, so that the parent can disable or wrap them.
    pub fn subchart(&mut self, parent: &ChartPath, name: &str) -> Subchart<'_> {
        self.below(parent.child(name))
    }

    /// Access to the handlers of a chart, so that a chart above it can disable or wrap them.
    pub fn below(&mut self, chart: ChartPath) -> Subchart<'_> {
        Subchart { emitter: self, chart }
    }

    /// Whether the event has handlers. If not, the caller need not build a context.
    pub fn listens(&self, event: Event) -> bool {
        let mut handlers = self.handlers.get(&event).into_iter().flatten();
        handlers.any(|registered| !is_silenced(&self.silenced, &registered.chart, event))
    }

    /// Calls the handlers of an event in order, each with the changes of the previous ones.
    ///
    /// # Errors
    /// The first error of a handler; later handlers are not called.
    pub fn emit(&mut self, event: Event, context: &mut Context) -> Result<()> {
        let Some(handlers) = self.handlers.get(&event) else { return Ok(()) };
        let mut outcome = Ok(());
        for registered in handlers {
            if is_silenced(&self.silenced, &registered.chart, event) {
                continue;
            }
            context.enter_handler(event, &registered.chart);
            let mut around: Vec<MutexGuard<'_, Wrapper>> = self
                .wrappers
                .iter()
                .filter(|wrapping| wrapping.event == event && wrapping.chart == registered.chart)
                .map(|wrapping| lock(&wrapping.wrapper))
                .collect();
            let mut handler = lock(&registered.handler);
            outcome = call(&mut handler, &mut around, context).map_err(|source| Error::Handler {
                event,
                chart: registered.chart.clone(),
                location: registered.location.clone(),
                source,
            });
            if outcome.is_err() {
                break;
            }
        }
        context.leave_handler();
        outcome
    }
}

fn is_silenced(silenced: &BTreeSet<(ChartPath, Event)>, chart: &ChartPath, event: Event) -> bool {
    !silenced.is_empty() && silenced.contains(&(chart.clone(), event))
}

/// Calls a handler through its wrappers, outermost first.
fn call(
    handler: &mut Handler,
    around: &mut [MutexGuard<'_, Wrapper>],
    context: &mut Context,
) -> Result<(), HandlerError> {
    match around.split_last_mut() {
        None => handler(context),
        Some((outermost, inner)) => outermost(context, &mut |context| call(handler, inner, context)),
    }
}

/// A parent chart's access to the handlers of a subchart.
pub struct Subchart<'a> {
    emitter: &'a mut Emitter,
    chart: ChartPath,
}

impl Subchart<'_> {
    /// Disables the subchart's handlers of an event, including later ones. Returns how many there are now.
    ///
    /// # Errors
    /// When there is no such event, or when it is a core event.
    pub fn off(&mut self, event: &str) -> Result<usize> {
        let event = Event::for_handlers(event)?;
        self.emitter.silenced.insert((self.chart.clone(), event));
        Ok(self.count(event))
    }

    /// Wraps each of the subchart's handlers of an event, including later ones. Returns how many there are now.
    ///
    /// # Errors
    /// When there is no such event, or when it is a core event.
    pub fn wrap(&mut self, event: &str, wrapper: Wrapper) -> Result<usize> {
        let event = Event::for_handlers(event)?;
        self.emitter.wrappers.push(Wrapping {
            event,
            chart: self.chart.clone(),
            wrapper: Arc::new(Mutex::new(wrapper)),
        });
        Ok(self.count(event))
    }

    /// Access to a subchart of this one.
    pub fn subchart(&mut self, name: &str) -> Subchart<'_> {
        Subchart { chart: self.chart.child(name), emitter: self.emitter }
    }

    fn count(&self, event: Event) -> usize {
        let handlers = self.emitter.handlers.get(&event).into_iter().flatten();
        handlers.filter(|registered| registered.chart == self.chart).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// What was called, in order.
    #[derive(Clone, Default)]
    struct Calls(Arc<Mutex<Vec<String>>>);

    impl Calls {
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }

        fn handler(&self, name: &str) -> Handler {
            let (calls, name) = (self.clone(), name.to_owned());
            Box::new(move |_| {
                calls.note(&name);
                Ok(())
            })
        }

        fn text(&self) -> String {
            self.0.lock().unwrap().join(" ")
        }
    }

    fn at(event: &str, weight: f64, chart: ChartPath) -> Registration<'_> {
        Registration { event, weight, chart, location: "ext/lua/chart.lua:7".into() }
    }

    #[test]
    fn weight_goes_before_depth_and_depth_before_registration() {
        let (top, calls, mut emitter) = (ChartPath::top("web"), Calls::default(), Emitter::new());
        for (name, weight, chart) in [
            ("program", 0.5, ChartPath::program()),
            ("web1", 0.5, top.clone()),
            ("web2", 0.5, top.clone()),
            ("early", 0.0, top.clone()),
            ("db", 0.5, top.child("db")),
            ("early-program", -0.0, ChartPath::program()),
            ("log", 0.5, top.child("db").child("log")),
            ("cache", 0.5, top.child("cache")),
            ("late", 1.0, top.child("cache")),
        ] {
            emitter.on(at("pre-install", weight, chart), calls.handler(name)).expect("a good registration");
        }
        emitter.emit(Event::PreInstall, &mut Context::default()).expect("all succeed");
        assert_eq!(calls.text(), "early early-program cache log db web1 web2 program late");
    }

    #[test]
    fn a_clone_shares_handlers_and_keeps_new_ones_to_itself() {
        let (calls, mut emitter) = (Calls::default(), Emitter::new());
        emitter.on(at("ready", 0.5, ChartPath::program()), calls.handler("program")).expect("good");
        let mut of_one_operation = emitter.clone();
        of_one_operation.on(at("ready", 0.5, ChartPath::top("web")), calls.handler("web")).expect("good");
        of_one_operation.emit(Event::Ready, &mut Context::default()).expect("all succeed");
        emitter.emit(Event::Ready, &mut Context::default()).expect("all succeed");
        assert_eq!(calls.text(), "web program program");
    }

    #[test]
    fn the_order_does_not_depend_on_when_charts_register() {
        let expected: Vec<String> = {
            let mut all: Vec<(u32, ChartPath)> = (0..24).map(|index| (index % 3, chart(index))).collect();
            all.sort();
            all.iter().map(|(weight, chart)| format!("{weight}:{chart}")).collect()
        };
        for turn in 0..24 {
            let (calls, mut emitter) = (Calls::default(), Emitter::new());
            for step in 0..24 {
                // 5 and 24 have no common divisor, so that every handler is registered once.
                let index = (turn + step * 5) % 24;
                let name = format!("{}:{}", index % 3, chart(index));
                let weight = f64::from(index % 3) / 2.0;
                emitter.on(at("ready", weight, chart(index)), calls.handler(&name)).expect("good");
            }
            emitter.emit(Event::Ready, &mut Context::default()).expect("all succeed");
            assert_eq!(*calls.0.lock().unwrap(), expected);
        }
    }

    /// 24 different charts, some below others.
    fn chart(index: u32) -> ChartPath {
        let top = ChartPath::top(format!("c{}", index / 6));
        (0..index % 6).fold(top, |path, depth| path.child(format!("s{}", depth % 2)))
    }

    #[test]
    fn emitters_can_be_sent_to_another_thread() {
        fn sent<T: Send>(value: T) -> T {
            value
        }
        assert!(!sent(Emitter::new()).listens(Event::Wait));
    }

    #[test]
    fn weights_outside_of_zero_to_one_are_refused() {
        for weight in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = Emitter::new()
                .on(at("wait", weight, ChartPath::program()), Box::new(|_| Ok(())))
                .expect_err("a bad weight");
            assert_eq!(
                error.to_string(),
                format!("the weight {weight} of a handler for `wait` is not between 0 and 1")
            );
        }
    }

    #[test]
    fn the_first_error_stops_and_says_whose_it_is() {
        let (calls, mut emitter) = (Calls::default(), Emitter::new());
        let db = ChartPath::top("web").child("db");
        emitter
            .on(
                at("post-render", 0.5, db),
                Box::new(|context| context.values_mut().map(|_| ()).map_err(HandlerError::from)),
            )
            .expect("a good registration");
        emitter.on(at("post-render", 0.6, ChartPath::top("web")), calls.handler("never")).expect("good");
        let mut context = Context::default();
        let error = emitter.emit(Event::PostRender, &mut context).expect_err("values are read-only");
        assert_eq!(
            error.to_string(),
            "the `post-render` handler of chart web/db at ext/lua/chart.lua:7 failed"
        );
        let cause = std::error::Error::source(&error).expect("it has a cause");
        assert_eq!(cause.to_string(), "`values` is read-only in `post-render`");
        assert_eq!(calls.text(), "");
        assert_eq!(context.event(), None);
    }

    #[test]
    fn a_parent_disables_handlers_of_its_own_subchart_only() {
        let (top, calls, mut emitter) = (ChartPath::top("web"), Calls::default(), Emitter::new());
        emitter.on(at("pre-install", 0.5, top.child("db")), calls.handler("before")).expect("good");
        assert_eq!(emitter.subchart(&top, "db").off("pre-install").expect("a known event"), 1);
        emitter.on(at("pre-install", 0.5, top.child("db")), calls.handler("after")).expect("good");
        assert!(!emitter.listens(Event::PreInstall));
        emitter.on(at("pre-install", 0.5, top.child("db").child("log")), calls.handler("log")).expect("good");
        let own = emitter.on(at("pre-install", 0.5, top.clone()), calls.handler("web")).expect("good");
        emitter.emit(Event::PreInstall, &mut Context::default()).expect("all succeed");
        assert_eq!(calls.text(), "log web");
        assert!(emitter.off(own) && !emitter.off(own));
        emitter.subchart(&top, "db").subchart("log").off("pre-install").expect("a known event");
        assert!(!emitter.listens(Event::PreInstall));
        assert!(emitter.subchart(&top, "db").off("install").is_err());
    }

    #[test]
    fn a_parent_acts_before_and_after_the_handlers_of_a_subchart() {
        let (top, calls, mut emitter) = (ChartPath::top("web"), Calls::default(), Emitter::new());
        for name in ["1", "2"] {
            emitter.on(at("ready", 0.5, top.child("db")), calls.handler(name)).expect("good");
        }
        for name in ["inner", "outer"] {
            let calls = calls.clone();
            let wrapper: Wrapper = Box::new(move |context, next| {
                calls.note(&format!("{name}("));
                next(context)?;
                calls.note(")");
                Ok(())
            });
            assert_eq!(emitter.subchart(&top, "db").wrap("ready", wrapper).expect("a known event"), 2);
        }
        emitter.on(at("ready", 0.5, top), calls.handler("web")).expect("good");
        emitter.emit(Event::Ready, &mut Context::default()).expect("all succeed");
        assert_eq!(calls.text(), "outer( inner( 1 ) ) outer( inner( 2 ) ) web");
    }

    #[test]
    fn a_wrapper_may_leave_a_handler_out_or_answer_for_it() {
        let (top, calls, mut emitter) = (ChartPath::top("web"), Calls::default(), Emitter::new());
        let fails: Handler = Box::new(|_| Err(HandlerError::new("no").with_trace("line 1")));
        emitter.on(at("ready", 0.5, top.child("db")), fails).expect("good");
        let noted = calls.clone();
        let wrapper: Wrapper = Box::new(move |context, next| {
            if let Err(error) = next(context) {
                noted.note(&format!("{error}, {}", error.trace().unwrap_or_default()));
            }
            Ok(())
        });
        emitter.subchart(&top, "db").wrap("ready", wrapper).expect("a known event");
        emitter.emit(Event::Ready, &mut Context::default()).expect("the wrapper answers");
        assert_eq!(calls.text(), "no, line 1");
    }
}
