//! The one room that speaks to Kubernetes: reading, applying, waiting, logs, stores.
