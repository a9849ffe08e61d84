//! Validates the files of a client certificate, with the error texts of Go's `crypto/tls`.

/// Why a certificate and a key cannot be used together, as far as the PEM blocks in their files tell.
pub fn key_pair_problem(certificate: &[u8], key: &[u8]) -> Option<String> {
    certificate_problem(&blocks(certificate)).or_else(|| key_problem(&blocks(key)))
}

fn certificate_problem(blocks: &[String]) -> Option<String> {
    match blocks {
        blocks if blocks.iter().any(|block| block == "CERTIFICATE") => None,
        [] => Some("tls: failed to find any PEM data in certificate input".to_owned()),
        [only] if only.ends_with("PRIVATE KEY") => Some(
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM \
             inputs may have been switched"
                .to_owned(),
        ),
        blocks => Some(format!(
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
             following types: [{}]",
            blocks.join(" ")
        )),
    }
}

fn key_problem(blocks: &[String]) -> Option<String> {
    match blocks {
        blocks if blocks.iter().any(|block| block == "PRIVATE KEY" || block.ends_with(" PRIVATE KEY")) => {
            None
        }
        [] => Some("tls: failed to find any PEM data in key input".to_owned()),
        [only] if only == "CERTIFICATE" => {
            Some("tls: found a certificate rather than a key in the PEM for the private key".to_owned())
        }
        blocks => Some(format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
             blocks of the following types: [{}]",
            blocks.join(" ")
        )),
    }
}

/// The types of the PEM blocks of a text, in their order.
fn blocks(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let begins =
        text.lines().filter_map(|line| line.strip_prefix("-----BEGIN ")?.trim_end().strip_suffix("-----"));
    begins.filter(|kind| text.contains(&format!("-----END {kind}-----"))).map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_mixed_up_are_noticed() {
        let block = |kind: &str| format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n");
        let (certificate, key) = (block("CERTIFICATE"), block("EC PRIVATE KEY"));
        let problem = |certificate: &str, key: &str| {
            key_pair_problem(certificate.as_bytes(), key.as_bytes()).unwrap_or_default()
        };
        assert_eq!(problem(&certificate, &key), "");
        assert_eq!(problem(&format!("{certificate}{certificate}"), &format!("{certificate}{key}")), "");
        assert!(problem(&key, &certificate).ends_with("PEM inputs may have been switched"));
        assert_eq!(problem("{", &key), "tls: failed to find any PEM data in certificate input");
        assert_eq!(problem(&certificate, "{"), "tls: failed to find any PEM data in key input");
        assert!(
            problem(&certificate, &certificate).starts_with("tls: found a certificate rather than a key")
        );
        assert!(problem(&block("X"), &key).ends_with("of the following types: [X]"));
    }
}
