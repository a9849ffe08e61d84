//! The store. Every operation is a single statement, so that it is atomic without a transaction.
//!
//! The state of a row is its `xmin`, the transaction that wrote it. An UPDATE that waits for the lock of another one
//! compares `xmin` again with what that left (PostgreSQL's READ COMMITTED), so of two writers with the same state one
//! finds no row.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::TryStreamExt as _;
use pintle_release::{
    Lease, Query, ReleaseVersion, Store, StoreError, StoreFuture, Summary, Timestamp, helm, newest,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::connection_string::{CertificateCheck, ConnectionString};
use crate::error::{Error, backend_error};
use crate::{schema, tls};

/// The namespace of releases without one, as in Helm.
const DEFAULT_NAMESPACE: &str = "default";

/// How much of a body is fetched for a list; enough for most summaries.
const BODY_PREFIX_CHARS: i32 = 16 << 10;

/// Creates a version. The row that it follows is rewritten unchanged, which gives it a new `xmin`, so that a
/// concurrent swap of it fails.
const CREATE: &str = "
    WITH followed AS (
        UPDATE releases_v1 SET modifiedAt = modifiedAt
        WHERE key = $14::text AND namespace = $4 AND xmin::text = $15::text RETURNING key
    ), added AS (
        INSERT INTO releases_v1 (key, type, body, name, namespace, version, status, owner, createdAt)
        SELECT $1, 'helm.sh/release.v1', $2, $3, $4, $5, $6, 'helm', $7
        WHERE $14::text IS NULL OR EXISTS (SELECT 1 FROM followed)
        ON CONFLICT DO NOTHING RETURNING key
    ), labelled AS (
        INSERT INTO custom_labels_v1 (releaseKey, releaseNamespace, key, value)
        SELECT $1, $4, label.key, label.value FROM unnest($8::text[], $9::text[]) AS label(key, value)
        WHERE EXISTS (SELECT 1 FROM added)
    ), leased AS (
        INSERT INTO pintle_leases_v1 (key, namespace, holder, since, renewed, seconds)
        SELECT $1, $4, $10::text, $11::text, $12::text, $13::integer
        WHERE $10::text IS NOT NULL AND EXISTS (SELECT 1 FROM added)
    )
    SELECT count(*) FROM added";

/// Updates a row, unconditionally, only with the given `xmin`, or only while it has the given lease. The lease is locked
/// after its row, in the order of every update: a concurrent writer that takes it away comes before or after.
const UPDATE: &str = "
    WITH locked AS (
        SELECT key FROM releases_v1 WHERE key = $1 AND namespace = $4 AND $13::text IS NOT NULL FOR UPDATE
    ), held AS (
        SELECT key FROM pintle_leases_v1
        WHERE key = $1 AND namespace = $4 AND holder = $13::text AND since = $14::text
            AND EXISTS (SELECT 1 FROM locked) FOR UPDATE
    ), changed AS (
        UPDATE releases_v1 SET body = $2, name = $3, version = $5, status = $6, owner = 'helm', modifiedAt = $7
        WHERE key = $1 AND namespace = $4 AND ($12::text IS NULL OR xmin::text = $12::text)
            AND ($13::text IS NULL OR EXISTS (SELECT 1 FROM held)) RETURNING xmin::text AS state
    ), freed AS (
        DELETE FROM pintle_leases_v1
        WHERE key = $1 AND namespace = $4 AND $8::text IS NULL AND EXISTS (SELECT 1 FROM changed)
    ), leased AS (
        INSERT INTO pintle_leases_v1 (key, namespace, holder, since, renewed, seconds)
        SELECT $1, $4, $8::text, $9::text, $10::text, $11::integer
        WHERE $8::text IS NOT NULL AND EXISTS (SELECT 1 FROM changed)
        ON CONFLICT (key, namespace) DO UPDATE SET holder = EXCLUDED.holder, since = EXCLUDED.since,
            renewed = EXCLUDED.renewed, seconds = EXCLUDED.seconds
    )
    SELECT state FROM changed";

/// Sets the lease of a row with the given `xmin`, or deletes it. The row itself does not change, and neither does its state.
const HOLD: &str = "
    WITH locked AS (
        SELECT key FROM releases_v1 WHERE key = $1 AND namespace = $2 AND xmin::text = $3::text FOR UPDATE
    ), freed AS (
        DELETE FROM pintle_leases_v1
        WHERE key = $1 AND namespace = $2 AND $4::text IS NULL AND EXISTS (SELECT 1 FROM locked)
    ), leased AS (
        INSERT INTO pintle_leases_v1 (key, namespace, holder, since, renewed, seconds)
        SELECT $1, $2, $4::text, $5::text, $6::text, $7::integer
        WHERE $4::text IS NOT NULL AND EXISTS (SELECT 1 FROM locked)
        ON CONFLICT (key, namespace) DO UPDATE SET holder = EXCLUDED.holder, since = EXCLUDED.since,
            renewed = EXCLUDED.renewed, seconds = EXCLUDED.seconds
    )
    SELECT count(*) FROM locked";

/// Writes a marker. Its type, which Helm does not read, says where the release is: a label does not fit, because
/// Helm's table of labels has too short a column for keys.
const MARK: &str = "
    INSERT INTO releases_v1 (key, type, body, name, namespace, version, status, owner, createdAt)
    VALUES ($1, $8, $2, $3, $4, $5, $6, 'helm', $7)
    ON CONFLICT (key, namespace) DO UPDATE SET type = EXCLUDED.type, body = EXCLUDED.body, version = EXCLUDED.version";

const MARKER: &str = "SELECT type FROM releases_v1 WHERE key = $1 AND namespace = $2";

const RENEW: &str = "
    UPDATE pintle_leases_v1 SET since = $4, renewed = $5, seconds = $6
    WHERE key = $1 AND namespace = $2 AND holder = $3";

const DELETE: &str = "
    WITH gone AS (
        DELETE FROM releases_v1 WHERE key = $1 AND namespace = $2 RETURNING key
    ), labels AS (
        DELETE FROM custom_labels_v1 WHERE releaseKey = $1 AND releaseNamespace = $2
    ), freed AS (
        DELETE FROM pintle_leases_v1 WHERE key = $1 AND namespace = $2
    )
    SELECT count(*) FROM gone";

/// The columns of a summary, with their tables.
const COLUMNS: &str = "
    r.key, r.namespace, left(r.body, $3), r.name, r.version, r.status,
    ARRAY(SELECT l.key::text FROM custom_labels_v1 l
        WHERE l.releaseKey = r.key AND l.releaseNamespace = r.namespace ORDER BY l.key),
    ARRAY(SELECT l.value::text FROM custom_labels_v1 l
        WHERE l.releaseKey = r.key AND l.releaseNamespace = r.namespace ORDER BY l.key),
    c.holder, c.since, c.renewed, c.seconds, r.xmin::text
    FROM releases_v1 r LEFT JOIN pintle_leases_v1 c ON c.key = r.key AND c.namespace = r.namespace
    WHERE r.owner = 'helm' AND r.key NOT LIKE '%.moved' AND ($1::text IS NULL OR r.namespace = $1) AND ($2::text IS NULL OR r.name = $2)";

/// Stores releases in PostgreSQL.
pub struct SqlStore {
    client: Client,
    /// The markers that were read so far: where releases were moved to, by namespace and name.
    markers: Mutex<BTreeMap<(String, String), String>>,
}

impl SqlStore {
    /// Connects to the database of a connection string, and creates missing tables.
    ///
    /// # Errors
    /// When the connection string is invalid, or the database rejects the connection or does not answer.
    pub async fn connect(connection_string: &str) -> Result<Self, Error> {
        let address = ConnectionString::parse(connection_string)?;
        let mut client = if address.tls.check == CertificateCheck::NoTls {
            let (client, connection) = address.config.connect(NoTls).await?;
            // The connection task owns the socket. Its error reaches the requests, as their channel is closed.
            tokio::spawn(connection);
            client
        } else {
            let tls = MakeRustlsConnect::new(tls::config(&address.tls)?);
            let (client, connection) = address.config.connect(tls).await?;
            tokio::spawn(connection);
            client
        };
        schema::ensure(&mut client).await?;
        Ok(SqlStore { client, markers: Mutex::default() })
    }

    /// Runs a statement that returns the number of changed rows.
    async fn changed(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<bool, tokio_postgres::Error> {
        Ok(self.client.query_one(statement, parameters).await?.get::<_, i64>(0) > 0)
    }

    /// Summarizes the rows of a query, with one row in memory at a time. `matches` compares labels.
    async fn summaries(
        &self,
        statement: &str,
        query: &Query,
        matches: impl Fn(&BTreeMap<String, String>) -> bool,
    ) -> Result<Vec<Summary>, Error> {
        let parameters: [&(dyn ToSql + Sync); 3] = [&query.namespace, &query.name, &BODY_PREFIX_CHARS];
        let rows = self.client.query_raw(statement, parameters).await?;
        let mut rows = std::pin::pin!(rows);
        let mut found = Vec::new();
        let mut cut_short = Vec::new();
        while let Some(row) = rows.try_next().await? {
            let labels = all_labels(&row);
            if !matches(&labels) {
                continue;
            }
            match summary(&row, row.get(2), &labels) {
                Some(summary) => found.push(summary),
                None => cut_short.push((row, labels)),
            }
        }
        // Rows that cannot be summarized from the beginning of their body are read completely.
        for (row, labels) in cut_short {
            let body = self.body(row.get(0), row.get(1)).await?.unwrap_or_default();
            // A row that cannot be read even then is left out, as Helm leaves it out of lists.
            found.extend(summary(&row, &body, &labels));
        }
        Ok(found)
    }

    /// Remembers whether there is a marker for a release.
    async fn read_marker(&self, namespace: &str, name: &str) -> Result<(), tokio_postgres::Error> {
        self.forget_marker(namespace, name);
        let row = self.client.query_opt(MARKER, &[&helm::marker_name(name), &namespace]).await?;
        let kind: Option<String> = row.map(|row| row.get(0));
        if let Some(to) = kind.as_deref().and_then(|kind| kind.rsplit('/').next()) {
            let key = (namespace.to_owned(), name.to_owned());
            self.markers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, to.to_owned());
        }
        Ok(())
    }

    fn forget_marker(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.markers.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    async fn body(&self, key: &str, namespace: &str) -> Result<Option<String>, tokio_postgres::Error> {
        let statement = "SELECT body FROM releases_v1 WHERE key = $1 AND namespace = $2";
        Ok(self.client.query_opt(statement, &[&key, &namespace]).await?.map(|row| row.get(0)))
    }

    /// Updates a row; with a state, only if it is unmodified; with `held`, only while it has that lease. Returns the
    /// new state; `None` if there was no such row.
    async fn write(
        &self,
        version: &ReleaseVersion,
        lease: Option<&Lease>,
        (state, held): (Option<&str>, Option<&Lease>),
    ) -> Result<Option<String>, StoreError> {
        let record = Record::new(version, "update")?;
        let (namespace, status) = (namespace_of(&version.namespace), version.status_word());
        let (lease, held) = (LeaseRow::new(lease), LeaseRow::new(held));
        let parameters: [&(dyn ToSql + Sync); 14] = [
            &record.key,
            &record.body,
            &version.name,
            &namespace,
            &record.number,
            &status,
            &now(),
            &lease.holder,
            &lease.since,
            &lease.renewed,
            &lease.seconds,
            &state,
            &held.holder,
            &held.since,
        ];
        let row = self.client.query_opt(UPDATE, &parameters).await;
        let row = row.map_err(backend_error("update: failed to update"))?;
        Ok(row.map(|row| row.get(0)))
    }

    /// The error for a version that is not in the expected state any more.
    async fn conflict_error(&self, seen: &Summary) -> StoreError {
        let mut history = self.history(&seen.namespace, &seen.name).await.unwrap_or_default();
        if let Some(next) = history.pop_if(|last| last.number > seen.number) {
            let holder = next.lease.map(|lease| lease.holder);
            return StoreError::Conflict {
                name: seen.name.clone(),
                number: next.number,
                winner: None,
                holder,
            };
        }
        modified(history, &seen.name, seen.number)
    }

    async fn labels(
        &self,
        key: &str,
        namespace: &str,
    ) -> Result<BTreeMap<String, String>, tokio_postgres::Error> {
        let statement =
            "SELECT key, value FROM custom_labels_v1 WHERE releaseKey = $1 AND releaseNamespace = $2";
        let rows = self.client.query(statement, &[&key, &namespace]).await?;
        Ok(helm::user_labels(rows.iter().map(|row| (row.get(0), row.get(1)))))
    }
}

impl std::fmt::Debug for SqlStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SqlStore").finish_non_exhaustive()
    }
}

/// The labels of a row: the user's, and those that Helm derives from other columns.
fn all_labels(row: &Row) -> BTreeMap<String, String> {
    let (keys, values): (Vec<Option<String>>, Vec<Option<String>>) = (row.get(6), row.get(7));
    let pairs = keys.into_iter().zip(values).filter_map(|(key, value)| Some((key?, value?)));
    let mut labels: BTreeMap<String, String> = pairs.collect();
    labels.extend([
        ("name".to_owned(), row.get(3)),
        ("owner".to_owned(), "helm".to_owned()),
        ("status".to_owned(), row.get(5)),
        ("version".to_owned(), row.get::<_, i32>(4).to_string()),
    ]);
    labels
}

/// The summary of a row; `None` when the body is incomplete.
fn summary(row: &Row, body: &str, labels: &BTreeMap<String, String>) -> Option<Summary> {
    let summary = helm::summarize(body.as_bytes(), labels, row.get(1)).ok()?;
    let moment =
        |index: usize| row.get::<_, Option<&str>>(index).and_then(|text| Timestamp::parse(text).ok());
    let lease = || {
        Some(Lease {
            holder: row.get::<_, Option<String>>(8)?,
            since: moment(9)?,
            renewed: moment(10)?,
            seconds: u32::try_from(row.get::<_, Option<i32>>(11)?).ok()?,
        })
    };
    Some(Summary { lease: lease(), state: row.get(12), ..summary })
}

/// The error for a version that another writer has changed, with what it is now.
fn modified(history: Vec<Summary>, name: &str, number: u64) -> StoreError {
    let now = history.into_iter().find(|now| now.number == number);
    StoreError::Modified {
        name: name.to_owned(),
        number,
        status: now.as_ref().map(|now| now.status),
        holder: now.and_then(|now| now.lease).map(|lease| lease.holder),
    }
}

fn namespace_of(namespace: &str) -> &str {
    if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace }
}

/// The current Unix time, as the tables store it.
#[expect(clippy::disallowed_methods, reason = "rows have the time of writing, as in Helm")]
fn now() -> i32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Helm's column is a 32-bit integer, which ends in 2038.
    i32::try_from(since.as_secs()).unwrap_or(i32::MAX)
}

/// The columns of a version.
struct Record {
    key: String,
    body: String,
    number: i32,
}

impl Record {
    fn new(version: &ReleaseVersion, action: &'static str) -> Result<Self, StoreError> {
        let json = helm::encode(version).map_err(|source| StoreError::Unwritable {
            action,
            name: version.name.clone(),
            source,
        })?;
        Ok(Record {
            key: helm::object_name(&version.name, version.number),
            body: helm::pack(&json),
            number: i32::try_from(version.number).unwrap_or(i32::MAX),
        })
    }
}

/// The columns of a lease.
struct LeaseRow {
    holder: Option<String>,
    since: Option<String>,
    renewed: Option<String>,
    seconds: Option<i32>,
}

impl LeaseRow {
    fn new(lease: Option<&Lease>) -> Self {
        LeaseRow {
            holder: lease.map(|lease| lease.holder.clone()),
            since: lease.map(|lease| lease.since.to_string()),
            renewed: lease.map(|lease| lease.renewed.to_string()),
            seconds: lease.map(|lease| i32::try_from(lease.seconds).unwrap_or(i32::MAX)),
        }
    }
}

impl Store for SqlStore {
    fn driver(&self) -> &'static str {
        "SQL"
    }

    fn create<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        after: Option<&'a Summary>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let record = Record::new(version, "create")?;
            let labels = helm::user_labels(version.labels.clone());
            let (keys, values): (Vec<String>, Vec<String>) = labels.into_iter().unzip();
            let (namespace, status, lease) =
                (namespace_of(&version.namespace), version.status_word(), LeaseRow::new(lease));
            // Without a state there is nothing to compare the row with.
            let after = after.filter(|after| !after.state.is_empty());
            let followed = after.map(|after| helm::object_name(&after.name, after.number));
            let state = after.map(|after| after.state.as_str());
            let parameters: [&(dyn ToSql + Sync); 15] = [
                &record.key,
                &record.body,
                &version.name,
                &namespace,
                &record.number,
                &status,
                &now(),
                &keys,
                &values,
                &lease.holder,
                &lease.since,
                &lease.renewed,
                &lease.seconds,
                &followed,
                &state,
            ];
            let failed = || backend_error("create: failed to create");
            if self.changed(CREATE, &parameters).await.map_err(failed())? {
                return Ok(());
            }
            match after {
                // Nothing was added, and there is no such version either: so the row to follow was not in its
                // expected state.
                Some(after) if self.body(&record.key, namespace).await.map_err(failed())?.is_none() => {
                    Err(self.conflict_error(after).await)
                }
                _ => Err(StoreError::Exists { name: version.name.clone(), number: version.number }),
            }
        })
    }

    fn update<'a>(
        &'a self,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
        held: Option<&'a Lease>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if self.write(version, lease, (None, held)).await?.is_some() {
                return Ok(());
            }
            let (name, number) = (&version.name, version.number);
            let history = self.history(&version.namespace, name).await?;
            match history.iter().any(|now| now.number == number) {
                true => Err(modified(history, name, number)),
                false => Err(StoreError::NotFound { name: name.clone(), number }),
            }
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        seen: &'a Summary,
        version: &'a ReleaseVersion,
        lease: Option<&'a Lease>,
    ) -> StoreFuture<'a, String> {
        Box::pin(async move {
            // The state comes from the same statement: a second query could see that of another writer in between.
            match self.write(version, lease, (Some(&seen.state), None)).await? {
                Some(state) => Ok(state),
                None => Err(self.conflict_error(seen).await),
            }
        })
    }

    fn renew<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
        lease: &'a Lease,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let failed = || backend_error("update: failed to update");
            let (key, namespace) = (helm::object_name(name, number), namespace_of(namespace));
            let row = LeaseRow::new(Some(lease));
            let parameters: [&(dyn ToSql + Sync); 6] =
                [&key, &namespace, &row.holder, &row.since, &row.renewed, &row.seconds];
            if self.client.execute(RENEW, &parameters).await.map_err(failed())? > 0 {
                return Ok(());
            }
            let there = self.body(&key, namespace).await.map_err(failed())?.is_some();
            let name = name.to_owned();
            Err(match there {
                true => StoreError::Conflict { name, number, winner: None, holder: None },
                false => StoreError::NotFound { name, number },
            })
        })
    }

    fn get<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        number: u64,
    ) -> StoreFuture<'a, Option<ReleaseVersion>> {
        Box::pin(async move {
            let failed = || backend_error("get: failed to get");
            let (key, namespace) = (helm::object_name(name, number), namespace_of(namespace));
            let Some(body) = self.body(&key, namespace).await.map_err(failed())? else { return Ok(None) };
            let decoded = helm::unpack(body.as_bytes()).and_then(|json| helm::decode(&json));
            let labels = self.labels(&key, namespace).await.map_err(failed())?;
            let mut version = decoded.map_err(|source| StoreError::Unreadable { key, source })?;
            version.labels = labels;
            version.complete_namespace(namespace);
            Ok(Some(version))
        })
    }

    fn history<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            let query = Query::for_release(namespace_of(namespace), name);
            let marker = self.read_marker(namespace_of(namespace), name).await;
            marker.map_err(backend_error("query: failed to query with labels"))?;
            let statement = format!("SELECT {COLUMNS} ORDER BY r.version");
            let found = self.summaries(&statement, &query, |_| true).await;
            let mut found = found.map_err(backend_error("query: failed to query with labels"))?;
            found.sort_by_key(|version| version.number);
            Ok(found)
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            let selector = query.selector()?;
            let statement = format!("SELECT {COLUMNS}");
            let found = self.summaries(&statement, query, |labels| selector.matches(labels)).await;
            let mut found = found.map_err(backend_error("list: failed to list"))?;
            found.retain(|version| query.matches_status(version.status));
            found.sort_by(|a, b| (&a.namespace, &a.name, a.number).cmp(&(&b.namespace, &b.name, b.number)));
            Ok(found)
        })
    }

    fn latest<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<Summary>> {
        Box::pin(async move {
            let selector = query.selector()?;
            let statement = format!(
                // The newest is selected by the database, before status and labels are compared, as `Store::latest`
                // demands.
                "SELECT DISTINCT ON (r.namespace, r.name) {COLUMNS} ORDER BY r.namespace, r.name, r.version DESC"
            );
            let found = self.summaries(&statement, query, |labels| selector.matches(labels)).await;
            Ok(newest(found.map_err(backend_error("list: failed to list"))?, query, |_| true))
        })
    }

    fn set_lease<'a>(&'a self, seen: &'a Summary, lease: Option<&'a Lease>) -> StoreFuture<'a, String> {
        Box::pin(async move {
            let key = helm::object_name(&seen.name, seen.number);
            let (namespace, lease) = (namespace_of(&seen.namespace), LeaseRow::new(lease));
            let parameters: [&(dyn ToSql + Sync); 7] =
                [&key, &namespace, &seen.state, &lease.holder, &lease.since, &lease.renewed, &lease.seconds];
            match self.changed(HOLD, &parameters).await {
                Ok(true) => Ok(seen.state.clone()),
                Ok(false) => Err(self.conflict_error(seen).await),
                Err(error) => Err(backend_error("update: failed to update")(error)),
            }
        })
    }

    fn leave_marker<'a>(&'a self, last: &'a Summary, to: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let marker = helm::marker(last, self.driver_word(), to);
            let record = Record { key: helm::marker_name(&last.name), ..Record::new(&marker, "create")? };
            let namespace = namespace_of(&last.namespace);
            let kind = format!("{}/{to}", helm::MOVED_TO);
            let parameters: [&(dyn ToSql + Sync); 8] = [
                &record.key,
                &record.body,
                &last.name,
                &namespace,
                &record.number,
                &marker.status_word(),
                &now(),
                &kind,
            ];
            let written = self.client.execute(MARK, &parameters).await;
            written.map_err(backend_error("create: failed to create"))?;
            let key = (namespace.to_owned(), last.name.clone());
            self.markers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, to.to_owned());
            Ok(())
        })
    }

    fn remove_marker<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let (key, namespace) = (helm::marker_name(name), namespace_of(namespace));
            let deleted = self.changed(DELETE, &[&key, &namespace]).await;
            deleted.map_err(backend_error("delete: failed to delete"))?;
            self.forget_marker(namespace, name);
            Ok(())
        })
    }

    fn moved_to(&self, namespace: &str, name: &str) -> Option<String> {
        let markers = self.markers.lock().unwrap_or_else(PoisonError::into_inner);
        markers.get(&(namespace_of(namespace).to_owned(), name.to_owned())).cloned()
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str, number: u64) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let (key, namespace) = (helm::object_name(name, number), namespace_of(namespace));
            match self.changed(DELETE, &[&key, &namespace]).await {
                Ok(true) => Ok(()),
                Ok(false) => Err(StoreError::NotFound { name: name.to_owned(), number }),
                Err(error) => Err(backend_error("delete: failed to delete")(error)),
            }
        })
    }
}
