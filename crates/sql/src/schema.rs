//! The tables. Helm's are created exactly as Helm does, and recorded in its migration table, so that either program
//! finds what it expects, whichever came first.

use tokio_postgres::{Client, Error};

/// The key of our advisory lock: `pintle` in ASCII.
const ADVISORY_LOCK: i64 = 0x7069_6e74_6c65;

/// The table in which Helm's migrations are recorded.
const MIGRATIONS: &str = r#"CREATE TABLE IF NOT EXISTS "gorp_migrations" ("id" text not null primary key, "applied_at" timestamp with time zone)"#;

const RELEASES: &str = "
    CREATE TABLE releases_v1 (
        key VARCHAR(90),
        type VARCHAR(64) NOT NULL,
        body TEXT NOT NULL,
        name VARCHAR(64) NOT NULL,
        namespace VARCHAR(64) NOT NULL,
        version INTEGER NOT NULL,
        status TEXT NOT NULL,
        owner TEXT NOT NULL,
        createdAt INTEGER NOT NULL,
        modifiedAt INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY(key, namespace)
    );
    CREATE INDEX ON releases_v1 (key, namespace);
    CREATE INDEX ON releases_v1 (version);
    CREATE INDEX ON releases_v1 (status);
    CREATE INDEX ON releases_v1 (owner);
    CREATE INDEX ON releases_v1 (createdAt);
    CREATE INDEX ON releases_v1 (modifiedAt);
    GRANT ALL ON releases_v1 TO PUBLIC;
    ALTER TABLE releases_v1 ENABLE ROW LEVEL SECURITY;";

/// `releaseKey` is shorter than `key` of the releases. It must stay as Helm declares it.
const LABELS: &str = "
    CREATE TABLE custom_labels_v1 (
        releaseKey VARCHAR(64),
        releaseNamespace VARCHAR(67),
        key VARCHAR(317),
        value VARCHAR(63)
    );
    CREATE INDEX ON custom_labels_v1 (releaseKey, releaseNamespace);
    GRANT ALL ON custom_labels_v1 TO PUBLIC;
    ALTER TABLE custom_labels_v1 ENABLE ROW LEVEL SECURITY;";

/// Our own table: the leases of running operations. Helm ignores it.
const LEASES: &str = "
    CREATE TABLE pintle_leases_v1 (
        key VARCHAR(90),
        namespace VARCHAR(64),
        holder TEXT NOT NULL,
        since TEXT NOT NULL,
        renewed TEXT NOT NULL,
        seconds INTEGER NOT NULL,
        PRIMARY KEY(key, namespace)
    );
    GRANT ALL ON pintle_leases_v1 TO PUBLIC;
    ALTER TABLE pintle_leases_v1 ENABLE ROW LEVEL SECURITY;";

/// Creates the missing tables.
pub(crate) async fn ensure(client: &mut Client) -> Result<(), Error> {
    if is_complete(client).await? {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    // Two processes that start at the same time must not both create the tables.
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&ADVISORY_LOCK]).await?;
    transaction.batch_execute(MIGRATIONS).await?;
    for (id, tables) in [("init", RELEASES), ("custom_labels", LABELS)] {
        // The record decides, not the table: if Helm has created it, its migration is recorded, too.
        let insert = "INSERT INTO gorp_migrations (id, applied_at) VALUES ($1, now()) ON CONFLICT DO NOTHING";
        if transaction.execute(insert, &[&id]).await? > 0 {
            transaction.batch_execute(tables).await?;
        }
    }
    let row = transaction.query_one("SELECT to_regclass('pintle_leases_v1') IS NULL", &[]).await?;
    if row.get(0) {
        transaction.batch_execute(LEASES).await?;
    }
    transaction.commit().await
}

async fn is_complete(client: &Client) -> Result<bool, Error> {
    let tables =
        "SELECT to_regclass('gorp_migrations') IS NOT NULL AND to_regclass('pintle_leases_v1') IS NOT NULL";
    if !client.query_one(tables, &[]).await?.get::<_, bool>(0) {
        return Ok(false);
    }
    let statement = "SELECT count(*) FROM gorp_migrations WHERE id IN ('init', 'custom_labels')";
    Ok(client.query_one(statement, &[]).await?.get::<_, i64>(0) == 2)
}
