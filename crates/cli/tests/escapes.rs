//! Control characters in the text of charts.

use crate::support;

use std::process::Command;

use support::TestEnv;
use support::terminal::Terminal;

/// Moves the cursor, hides text, reverses its direction; and a C1 control character.
const EVIL: &str = "x\u{1b}[2A\u{1b}[8m\u{202e}y\u{9b}2Kz\u{7}";
/// The part of it that YAML allows.
const TURNED: &str = "x\u{202e}y";
const SHOWN: &str = "x\\x1b[2A\\x1b[8m\\u{202e}y\\u{9b}2Kz\\x07";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/README.md", &format!("{EVIL}\n"));
    env.write("web/templates/good.yaml", &format!("kind: ConfigMap\ndata: {{a: \"{TURNED}\"}}\n"));
    env.write(&format!("bad{EVIL}/Chart.yaml"), "apiVersion: v2\nname: bad\nversion: 1.0.0\n");
    let template = format!("# {EVIL}\n{{{{ fail \"{EVIL}\" }}}}\n");
    env.write(&format!("bad{EVIL}/templates/{EVIL}.yaml"), &template);
    env
}

#[test]
fn control_characters_of_a_chart_never_reach_a_terminal() {
    let env = env();
    let bad = format!("bad{EVIL}");
    for name in ["pintle", "helm"] {
        for (line, wanted) in [
            (format!("template a {bad}"), SHOWN),
            (format!("lint {bad}"), SHOWN),
            (format!("template a web --show-only {EVIL}"), SHOWN),
            ("show readme web".to_owned(), SHOWN),
            ("template a web".to_owned(), "x\\u{202e}y"),
        ] {
            let (_, _, shown) = Terminal::start_as(&env, name, &line, true).end();
            for command in ["\u{1b}[2A", "\u{1b}[8m", "\u{202e}", "\u{9b}", "\u{7}"] {
                assert!(!shown.contains(command), "{name} {line}: {command:?} in {shown:?}");
            }
            assert!(shown.contains(wanted), "{name} {line}: {shown:?}");
        }
    }
}

#[test]
fn what_goes_into_a_pipe_keeps_every_byte() {
    let env = env();
    for name in ["pintle", "helm"] {
        for (line, wanted) in [("template a web", TURNED), ("show readme web", EVIL)] {
            let output = Command::new(env.linked(name))
                .args(line.split(' '))
                .current_dir(env.path())
                .env_clear()
                .output()
                .expect("the program can be run");
            let text = String::from_utf8(output.stdout).expect("text");
            assert!(text.contains(wanted), "{name} {line}: {text:?}");
        }
    }
}
