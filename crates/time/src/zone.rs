//! Time zones: UTC, fixed offsets, and those of the zone database.

use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Where Go searches the zone database (`platformZoneSources` on Unix).
const DATABASES: [&str; 4] =
    ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"];

/// The calendar, and with it every rule for daylight saving time, repeats after 400 years.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;

/// The value of the environment variable `TZ`, set by `Zone::set_local`.
static VARIABLE: OnceLock<Option<String>> = OnceLock::new();

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Utc,
    Fixed { name: String, offset: i32 },
    Database { name: String, rules: TimeZone },
}

impl Zone {
    /// Coordinated universal time.
    #[must_use]
    pub fn utc() -> Self {
        Self(Kind::Utc)
    }

    /// A zone that always is the given number of seconds east of UTC.
    #[must_use]
    pub fn fixed(name: impl Into<String>, offset: i32) -> Self {
        Self(Kind::Fixed { name: name.into(), offset })
    }

    /// Sets the value of the environment variable `TZ`, which determines the local zone of the whole process. Must be called
    /// before [`Zone::local`]; later calls have no effect.
    pub fn set_local(variable: Option<String>) {
        // The first value counts.
        let _ = VARIABLE.set(variable);
    }

    /// The zone of this computer, read from the zone database once for the whole process, by the rules of Go for the
    /// variable `TZ`: an unset one means `/etc/localtime`, an empty or unknown one means UTC.
    #[must_use]
    pub fn local() -> Self {
        static LOCAL: LazyLock<Zone> =
            LazyLock::new(|| local(VARIABLE.get().and_then(|variable| variable.as_deref())));
        LOCAL.clone()
    }

    /// Finds a zone by its name in the database. An empty name and `UTC` mean UTC, `Local` means the local zone.
    ///
    /// # Errors
    /// With Go's text when the name is malformed or unknown.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "" | "UTC" => return Ok(Self::utc()),
            "Local" => return Ok(Self::local()),
            _ => {}
        }
        // Names come from templates and become paths below the database.
        if name.contains("..") || name.starts_with(['/', '\\']) {
            return Err("time: invalid location name".to_owned());
        }
        from_database(name).ok_or_else(|| format!("unknown time zone {name}"))
    }

    /// Returns the name of the zone as a whole, such as `Europe/Rome`.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Utc => "UTC",
            Kind::Fixed { name, .. } | Kind::Database { name, .. } => name,
        }
    }

    /// Returns whether this is UTC itself, rather than a zone that happens to agree with it.
    #[must_use]
    pub fn is_utc(&self) -> bool {
        self.0 == Kind::Utc
    }

    /// Returns the seconds east of UTC at a Unix time.
    #[must_use]
    pub fn offset(&self, unix: i64) -> i32 {
        match &self.0 {
            Kind::Utc => 0,
            Kind::Fixed { offset, .. } => *offset,
            Kind::Database { rules, .. } => rules.to_offset(timestamp(unix)).seconds(),
        }
    }

    /// Returns the zone abbreviation in use at a Unix time, such as `CEST`.
    #[must_use]
    pub fn abbreviation(&self, unix: i64) -> String {
        match &self.0 {
            Kind::Utc => "UTC".to_owned(),
            Kind::Fixed { name, .. } => name.clone(),
            Kind::Database { rules, .. } => rules.to_offset_info(timestamp(unix)).abbreviation().to_owned(),
        }
    }

    /// Returns whether daylight saving time is in use at a Unix time.
    #[must_use]
    pub fn is_dst(&self, unix: i64) -> bool {
        match &self.0 {
            Kind::Utc | Kind::Fixed { .. } => false,
            Kind::Database { rules, .. } => rules.to_offset_info(timestamp(unix)).dst().is_dst(),
        }
    }

    /// Finds the offset of an abbreviation at a local time, which is given as if it were UTC.
    pub(crate) fn offset_of_abbreviation(&self, name: &str, clock: i64) -> Option<i32> {
        let candidates = self.offsets_named(name);
        let in_use = candidates.iter().map(|offset| clock.wrapping_sub(i64::from(*offset)));
        let mut in_use = in_use.filter(|unix| self.abbreviation(*unix) == name);
        in_use.next().map(|unix| self.offset(unix)).or_else(|| candidates.first().copied())
    }

    /// Every offset that ever had the abbreviation, in order of time.
    fn offsets_named(&self, wanted: &str) -> Vec<i32> {
        // After this the rules only repeat.
        const LAST: i64 = 2_300_000_000;
        match &self.0 {
            // UTC has no table of names in Go, so that even its own name is not found here.
            Kind::Utc => Vec::new(),
            Kind::Fixed { name, offset } if name == wanted => vec![*offset],
            Kind::Fixed { .. } => Vec::new(),
            Kind::Database { rules, .. } => {
                let first = rules.to_offset_info(Timestamp::MIN);
                let mut offsets = Vec::new();
                if first.abbreviation() == wanted {
                    offsets.push(first.offset().seconds());
                }
                let transitions = rules.following(Timestamp::MIN);
                let transitions =
                    transitions.take_while(|transition| transition.timestamp().as_second() < LAST);
                for transition in transitions.filter(|transition| transition.abbreviation() == wanted) {
                    let offset = transition.offset().seconds();
                    if !offsets.contains(&offset) {
                        offsets.push(offset);
                    }
                }
                offsets
            }
        }
    }
}

fn local(variable: Option<&str>) -> Zone {
    let zone = match variable.map(|name| name.strip_prefix(':').unwrap_or(name)) {
        None => from_file("Local", Path::new("/etc/localtime")).or_else(from_system),
        Some("" | "UTC") => None,
        Some("/etc/localtime") => from_file("Local", Path::new("/etc/localtime")),
        Some(path) if path.starts_with('/') => from_file(path, Path::new(path)),
        Some(name) => from_database(name),
    };
    zone.unwrap_or_else(Zone::utc)
}

/// On systems without zone files the system's own interface is used.
fn from_system() -> Option<Zone> {
    if cfg!(unix) {
        return None;
    }
    let rules = TimeZone::try_system().ok()?;
    Some(Zone(Kind::Database { name: "Local".to_owned(), rules }))
}

fn from_database(name: &str) -> Option<Zone> {
    let mut databases = DATABASES.iter().map(Path::new).filter(|database| database.is_dir()).peekable();
    if databases.peek().is_none() {
        // The bundled database ignores case; files do not.
        let rules = TimeZone::get(name).ok().filter(|rules| rules.iana_name() == Some(name))?;
        return Some(Zone(Kind::Database { name: name.to_owned(), rules }));
    }
    databases.find_map(|database| from_file(name, &database.join(name)))
}

fn from_file(name: &str, path: &Path) -> Option<Zone> {
    let rules = TimeZone::tzif(name, &std::fs::read(path).ok()?).ok()?;
    Some(Zone(Kind::Database { name: name.to_owned(), rules }))
}

/// Brings a Unix time into the range of jiff: before it there are no rules, after it they repeat.
fn timestamp(unix: i64) -> Timestamp {
    let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let unix =
        if unix > last { last - CYCLE_SECONDS + (unix - last) % CYCLE_SECONDS } else { unix.max(first) };
    Timestamp::from_second(unix).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_go_does() {
        assert_eq!(Zone::named(""), Ok(Zone::utc()));
        assert_eq!(Zone::named("No/Where"), Err("unknown time zone No/Where".to_owned()));
        assert_eq!(Zone::named("../etc/localtime"), Err("time: invalid location name".to_owned()));
        assert!(Zone::named("europe/rome").is_err());
    }

    #[test]
    fn rules_hold_at_the_ends_of_time() {
        let zone = Zone::named("America/New_York").expect("in the database");
        assert_eq!(zone.offset(0), -18_000);
        assert_eq!(zone.abbreviation(1_720_000_000), "EDT");
        assert!(zone.is_dst(1_720_000_000 + 100 * CYCLE_SECONDS));
        assert!([-18_000, -14_400].contains(&zone.offset(i64::MAX)));
        assert_eq!(zone.abbreviation(i64::MIN), "LMT");
    }

    #[test]
    fn the_variable_names_the_local_zone() {
        assert_eq!(local(Some("UTC")), Zone::utc());
        assert_eq!(local(Some("Asia/Tokyo")).offset(0), 32_400);
        assert_eq!(local(Some("nonsense")), Zone::utc());
    }
}
