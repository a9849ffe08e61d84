//! Host name lookup. Rendering must not depend on the network, so the result is empty unless the user allows it.

use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use pintle_gotmpl::{Body, CallResult, Function, Type, Value};

/// Finds the addresses of a host name.
pub type Resolver = fn(&str) -> Vec<String>;

/// Returns `getHostByName`: always empty without a resolver, otherwise one of the addresses of the host.
pub fn host_by_name(resolver: Option<Resolver>) -> Function {
    let body = match resolver {
        None => Body::Pure(|_| Ok(Value::str(""))),
        Some(resolve) => Body::Host(Arc::new(move |_, args| lookup(resolve, &args.str(0).to_str_lossy()))),
    };
    Function { name: "getHostByName", params: &[Type::Str], variadic: None, result: Type::Str, body }
}

/// The resolver of the operating system.
pub fn system_resolver(host: &str) -> Vec<String> {
    let addresses = (host, 0).to_socket_addrs();
    addresses.map(|addresses| addresses.map(|address| address.ip().to_string()).collect()).unwrap_or_default()
}

/// The functions of this family, without access to the network.
pub(crate) fn functions() -> Vec<Function> {
    vec![host_by_name(None)]
}

fn lookup(resolve: Resolver, host: &str) -> CallResult {
    // Helm picks a random address; the first one will do. Without one it panics over the empty range.
    let address = resolve(host).into_iter().next().ok_or("invalid argument to Intn")?;
    Ok(Value::from(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_host_is_a_panic_as_in_helm() {
        let known: Resolver = |host| if host == "a" { vec!["10.0.0.1".to_owned()] } else { Vec::new() };
        assert_eq!(
            lookup(known, "a").unwrap().as_text().map(ToString::to_string).as_deref(),
            Some("10.0.0.1")
        );
        assert_eq!(lookup(known, "b").unwrap_err().message, "invalid argument to Intn");
    }
}
