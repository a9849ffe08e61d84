//! Objects as `Table`s: the columns that kubectl prints, chosen by the server.

use pintle_objects::Object;

use crate::api_path;
use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::request::{Accept, Request};

impl Cluster {
    /// Gets one object as a table with one row; `None` when it does not exist. Servers without table support return
    /// the object itself.
    ///
    /// # Errors
    /// When the server rejects the request or cannot be reached.
    pub async fn table(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Option<Object>> {
        match self.read_table(api_path::object(resource, namespace, name)?).await {
            Ok(table) => Ok(Some(table)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects with the given labels as one table.
    ///
    /// # Errors
    /// When the server rejects the request or cannot be reached.
    pub async fn list_table(&self, resource: &Resource, namespace: &str, labels: &str) -> Result<Object> {
        let mut path = api_path::collection(resource, namespace)?;
        if !labels.is_empty() {
            api_path::parameter(&mut path, "labelSelector", labels);
        }
        self.read_table(path).await
    }

    async fn read_table(&self, mut path: String) -> Result<Object> {
        // The cells are enough; leave out the objects.
        api_path::parameter(&mut path, "includeObject", "None");
        let request = Request::get(path).accept(Accept::Table);
        let response = self.send(&request).await?;
        Object::read_json(&response.body)
            .map_err(|error| Error::invalid_response(format!("GET {}", request.path), error))
    }
}
