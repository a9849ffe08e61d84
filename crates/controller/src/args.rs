//! The flags of the program.

use crate::address::AddressRules;
use crate::request::duration;
use crate::run::Options;

/// The help of the program.
pub const HELP: &str = "\
Watch HelmRequest objects and keep their releases as they describe them.

Usage: pintle-controller [FLAGS]

  --namespace NAME                 watch one namespace instead of all
  --selector SELECTOR              watch only requests with these labels, for sharding
  --concurrent N                   work on N requests at once (16); any number may wait until their objects are ready
  --concurrent-per-namespace N     reconcile N requests of one namespace at once (half of --concurrent)
  --memory SIZE                    how much memory reconciliations may use together, such as 512Mi; without it, five eighths
                                   of the limit of the container, or 1Gi if there is none
  --default-service-account NAME   act as this service account for requests that name none (default); with an empty
                                   name, use the controller's own rights
  --allow-private-network[=LIST]   let the URLs of requests (charts, values, kubeconfigs) lead to private networks, or to the
                                   networks (10.96.0.0/12), addresses and host names of a list; without it, only to
                                   public addresses. Loopback and link-local addresses must be in the list
  --watch-values                   watch ConfigMaps and Secrets with the label helm.sh/watch=true, so that requests that
                                   use them follow their changes at once; with --watch-values=all, all ConfigMaps and Secrets,
                                   and nothing is read for requests whose objects did not change
  --watch-records=false            do not watch Release and ReleaseVersion objects, but read them for each request at its interval
  --interval-jitter PERCENT        vary intervals by this much (5)
  --requeue-dependency DURATION    look at dependencies that are not ready this often (30s)
  --graceful-shutdown-timeout DURATION
                                   let running operations end for this long before they are cancelled (600s)
  --request-sets                   reconcile HelmRequestSets, too: one chart for many clusters
  --replicas-share                 let all replicas work, each on a part of the requests; without it, one leads and the others
                                   stand by
  --leader-elect=false             do not take part in a leader election
  --lease-namespace NAME           the namespace of the leader's lease (pintle-system)
  --identity NAME                  the name of this process, such as that of its pod
  --metrics-addr ADDRESS           serve /metrics, /healthz and /readyz at this address (0.0.0.0:8080)
  --cache DIRECTORY                keep fetched charts in this directory (/tmp/pintle-controller)
  --kubeconfig FILE                the kubeconfig file; without it, the service account of the pod
  --version                        print the version
  --help                           print this help
";

/// What the flags say.
#[derive(Clone, Debug)]
pub struct Args {
    /// How the controller runs.
    pub options: Options,
    /// The kubeconfig file; empty for the service account of the pod.
    pub kubeconfig: String,
    /// Where metrics and probes are served.
    pub metrics_address: String,
    /// Whether there is a leader election.
    pub leader_elect: bool,
    /// The namespace of the lease.
    pub lease_namespace: String,
    /// How much memory reconciliations may use together, in bytes.
    pub memory: Option<u64>,
}

impl Default for Args {
    fn default() -> Args {
        Args {
            options: Options { cache: "/tmp/pintle-controller".into(), ..Options::default() },
            kubeconfig: String::new(),
            metrics_address: "0.0.0.0:8080".to_owned(),
            leader_elect: true,
            lease_namespace: "pintle-system".to_owned(),
            memory: None,
        }
    }
}

impl Args {
    /// Parses flags, as `--name value` or `--name=value`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Args, String> {
        let mut parsed = Args::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (arg, None),
            };
            if name == "--allow-private-network" {
                let rules = AddressRules::parse(value.as_deref().unwrap_or("true"));
                parsed.options.addresses = rules.map_err(|error| format!("{name}: {error}"))?;
                continue;
            }
            if name == "--watch-values" && value.as_deref() == Some("all") {
                parsed.options.watch_all_values = true;
                continue;
            }
            if let "--watch-values" | "--watch-records" | "--leader-elect" | "--replicas-share"
            | "--request-sets" = name.as_str()
            {
                let on = match value.as_deref() {
                    None | Some("true") => true,
                    Some("false") => false,
                    Some(other) => return Err(format!("{name}: `{other}` is neither true nor false")),
                };
                match name.as_str() {
                    "--watch-values" => parsed.options.watch_values = on,
                    "--watch-records" => parsed.options.watch_records = on,
                    "--request-sets" => parsed.options.request_sets = on,
                    "--replicas-share" => parsed.options.replicas_share = on,
                    _ => parsed.leader_elect = on,
                }
                continue;
            }
            let value = value.or_else(|| args.next()).ok_or_else(|| format!("{name} needs a value"))?;
            parsed.set(&name, value)?;
        }
        if parsed.options.replicas_share && !parsed.leader_elect {
            return Err("--replicas-share needs the leases that --leader-elect=false switches off".to_owned());
        }
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        let options = &mut self.options;
        match name {
            "--namespace" => options.namespace = value,
            "--selector" => options.selector = value,
            "--concurrent" => options.concurrent = number(name, &value)?,
            "--concurrent-per-namespace" => options.concurrent_per_namespace = number(name, &value)?,
            "--memory" => self.memory = Some(size(name, &value)?),
            "--default-service-account" => options.default_service_account = value,
            "--interval-jitter" => options.jitter = number(name, &value)?,
            "--requeue-dependency" => options.requeue_dependency = duration(name, &value)?,
            "--graceful-shutdown-timeout" => options.graceful_shutdown = duration(name, &value)?,
            "--lease-namespace" => self.lease_namespace = value,
            "--identity" => options.identity = value,
            "--metrics-addr" => self.metrics_address = value,
            "--cache" => options.cache = value.into(),
            "--kubeconfig" => self.kubeconfig = value,
            other => return Err(format!("unknown flag {other}; see --help")),
        }
        Ok(())
    }
}

/// The least memory that makes sense: what one reconciliation begins with, for two namespaces.
pub const MIN_MEMORY: u64 = 16 << 20;

/// Parses a size as Kubernetes writes quantities of memory.
fn size(name: &str, value: &str) -> Result<u64, String> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: Option<u64> = match &value[digits.len()..] {
        "" => Some(1),
        "k" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        "Ki" => Some(1 << 10),
        "Mi" => Some(1 << 20),
        "Gi" => Some(1 << 30),
        _ => None,
    };
    let parsed =
        digits.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    match parsed {
        Some(size) if size >= MIN_MEMORY => Ok(size),
        Some(_) => Err(format!("{name}: `{value}` is too little; the least is {}Mi", MIN_MEMORY >> 20)),
        None => Err(format!("{name}: `{value}` is no size such as 512Mi or 2Gi")),
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, String> {
    value.parse().map_err(|_| format!("{name}: `{value}` is not a number in its range"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parse(text: &str) -> Result<Args, String> {
        Args::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn flags_take_values_in_both_ways() {
        let args = parse(
            "--concurrent 4 --namespace=apps --leader-elect=false --watch-values --requeue-dependency 5s",
        )
        .unwrap();
        assert_eq!((args.options.concurrent, args.options.namespace.as_str()), (4, "apps"));
        assert!(!args.leader_elect && args.options.watch_values && !args.options.replicas_share);
        assert!(parse("--replicas-share").unwrap().options.replicas_share);
        let error = parse("--replicas-share --leader-elect=false").unwrap_err();
        assert!(error.contains("--leader-elect=false"), "{error}");
        assert_eq!(args.options.requeue_dependency, Duration::from_secs(5));
        let args = parse("--allow-private-network --concurrent-per-namespace 2").unwrap();
        assert_eq!(args.options.concurrent_per_namespace, 2);
        let [private, loopback] = ["10.0.0.1", "127.0.0.1"].map(|address| address.parse().unwrap());
        assert!(args.options.addresses.allow("a", private) && !args.options.addresses.allow("a", loopback));
        let args = parse("--allow-private-network=127.0.0.0/8 --concurrent 3").unwrap();
        assert!(!args.options.addresses.allow("a", private) && args.options.addresses.allow("a", loopback));
        assert_eq!(parse("--default-service-account=").unwrap().options.default_service_account, "");
    }

    #[test]
    fn sizes_are_quantities_of_kubernetes() {
        let memory = |text: &str| parse(&format!("--memory {text}")).map(|args| args.memory);
        assert_eq!(memory("512Mi"), Ok(Some(512 << 20)));
        assert_eq!(memory("2G"), Ok(Some(2_000_000_000)));
        assert_eq!(memory("104857600"), Ok(Some(100 << 20)));
        for wrong in ["Mi", "1Ti", "-5Mi", "1.5Gi", "99999999999Gi", "half"] {
            let error = memory(wrong).unwrap_err();
            assert!(error.contains("no size such as 512Mi"), "{wrong}: {error}");
        }
        assert!(memory("1Mi").unwrap_err().contains("the least is 16Mi"));
    }

    #[test]
    fn wrong_flags_are_named() {
        assert_eq!(parse("--concurent 4").unwrap_err(), "unknown flag --concurent; see --help");
        assert_eq!(
            parse("--concurrent many").unwrap_err(),
            "--concurrent: `many` is not a number in its range"
        );
        assert_eq!(parse("--cache").unwrap_err(), "--cache needs a value");
        assert!(parse("--allow-private-network=10.0.0.0/99").unwrap_err().contains("10.0.0.0/99"));
        assert!(parse("--requeue-dependency soon").unwrap_err().starts_with("--requeue-dependency: "));
    }

    #[test]
    fn every_flag_is_in_the_help() {
        for flag in HELP.lines().filter_map(|line| line.trim().strip_prefix("--")) {
            let name = flag.split([' ', '=', '[']).next().unwrap();
            if matches!(name, "version" | "help") {
                continue;
            }
            let refused =
                Args::parse([format!("--{name}=x")]).is_err_and(|error| error.starts_with("unknown"));
            assert!(!refused, "--{name} is in the help and not known");
        }
    }
}
