//! A spec in which no field is left out when it is written, for the test that compares it with the schema.

use serde_json::{Map, Value};

use super::*;

impl HelmRequestSpec {
    pub(crate) fn with_every_field() -> HelmRequestSpec {
        let text = || Some("1m".to_owned());
        let run = RunOptions {
            timeout: text(),
            disable_hooks: true,
            disable_wait: true,
            disable_wait_for_jobs: true,
        };
        let release = |crds, strategy| ReleaseOptions {
            run: run.clone(),
            crds: Some(crds),
            take_ownership: true,
            disable_schema_validation: true,
            disable_open_api_validation: true,
            strategy: Strategy { name: StrategyName::RemediateOnFailure, retry_interval: text() },
            remediation: Remediation {
                retries: 1,
                remediate_last_failure: Some(true),
                ignore_test_failures: true,
                strategy,
            },
        };
        let target = Target {
            group: text(),
            version: text(),
            kind: text(),
            name: text(),
            namespace: text(),
            label_selector: text(),
            annotation_selector: text(),
        };
        let key = || SecretKeyReference { name: String::new(), key: text() };
        let labels = || [("a".to_owned(), "b".to_owned())].into();
        HelmRequestSpec {
            chart: ChartSource {
                repository: text(),
                name: text(),
                url: text(),
                archive: Some(Archive { key: text(), ..Archive::default() }),
                version: text(),
                credentials: Some(LocalReference::default()),
                verify: Some(Verification { provider: VerificationProvider::Cosign, secret_ref: key() }),
                insecure_skip_tls_verify: true,
                plain_http: true,
            },
            release_name: text(),
            target_namespace: text(),
            storage_namespace: text(),
            interval: text(),
            timeout: text(),
            max_history: Some(1),
            suspend: true,
            service_account_name: text(),
            kube_config: Some(KubeConfig { secret_ref: key() }),
            approval: Approval::Manual,
            depends_on: vec![Dependency { ready_expr: text(), ..Dependency::default() }],
            health_check_exprs: vec![HealthCheckExpr {
                in_progress: text(),
                failed: text(),
                ..HealthCheckExpr::default()
            }],
            values: Map::from_iter([("a".to_owned(), Value::Null)]),
            values_from: vec![ValuesReference {
                kind: ValuesKind::Url,
                url: text(),
                digest: text(),
                ..ValuesReference::default()
            }],
            common_metadata: CommonMetadata { labels: labels(), annotations: labels() },
            post_renderers: vec![PostRenderer {
                patches: vec![Patch { patch: String::new(), target: Some(target.clone()) }],
                images: vec![Image {
                    name: String::new(),
                    new_name: text(),
                    new_tag: text(),
                    digest: text(),
                }],
            }],
            install: Install {
                release: release(CrdPolicy::Skip, RemediationStrategy::Rollback),
                create_namespace: true,
            },
            upgrade: Upgrade {
                release: release(CrdPolicy::Apply, RemediationStrategy::Uninstall),
                cleanup_on_fail: true,
                force: true,
                force_conflicts: true,
                preserve_values: true,
            },
            rollback: Rollback { run, cleanup_on_fail: true, force: true },
            uninstall: Uninstall {
                timeout: text(),
                keep_history: true,
                disable_hooks: true,
                disable_wait: true,
                deletion_propagation: Propagation::Foreground,
            },
            test: Test {
                enable: true,
                timeout: text(),
                ignore_failures: true,
                filters: vec![TestFilter { name: String::new(), exclude: true }],
            },
            drift_detection: DriftDetection {
                mode: DriftMode::Warn,
                ignore: vec![DriftIgnore { paths: Vec::new(), target: Some(target) }],
            },
            permissions: vec![String::new()],
        }
    }
}
