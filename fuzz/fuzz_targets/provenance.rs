//! Any bytes as a keyring and as a provenance file, and both in one: errors or results, and no other signer than the keyring
//! has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_provenance::{Keyring, verify};

const NOW: u64 = 1_800_000_000;

fuzz_target!(|data: &[u8]| {
    const START: &[u8] = b"-----BEGIN PGP SIGNED MESSAGE-----";
    let at = data.windows(START.len()).position(|window| window == START).unwrap_or(data.len());
    let (ring, provenance) = data.split_at(at);
    let Ok(ring) = Keyring::read(ring) else { return };
    for entity in ring.entities() {
        let _ = entity.needs_passphrase();
        for name in entity.user_ids() {
            let _ = ring.find(&name);
        }
    }
    if let Ok(verified) = verify(&ring, provenance, "a.tgz", "00", NOW) {
        assert!(ring.entities().iter().any(|entity| entity.fingerprint() == verified.fingerprint));
    }
});
