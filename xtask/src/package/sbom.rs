//! The list of components (SBOM) in CycloneDX's format: every crate, every npm package and every library
//! of the system inside the binary.

use super::licences::{self, Component};
use crate::failure::Outcome;
use crate::files::quoted;

pub fn write(version: &str) -> Outcome<String> {
    let components = licences::components()?;
    let lines: Vec<String> = components.iter().map(component).collect();
    Ok(format!(
        "{{\n\"bomFormat\": \"CycloneDX\",\n\"specVersion\": \"1.5\",\n\"version\": 1,\n\"metadata\": {{\"component\": \
         {{\"type\": \"application\", \"name\": \"ctx\", \"version\": {}}}}},\n\"components\": [\n{}\n]\n}}\n",
        quoted(version),
        lines.join(",\n")
    ))
}

fn component(component: &Component) -> String {
    let Component { kind, name, version, licence, .. } = component;
    let address = format!("pkg:{kind}/{}@{version}", name.replace('@', "%40"));
    format!(
        "  {{\"type\": \"library\", \"name\": {}, \"version\": {}, \"purl\": {}, \"licenses\": [{{\"expression\": {}}}]}}",
        quoted(name),
        quoted(version),
        quoted(&address),
        quoted(licence)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_json_and_names_known_components() {
        let list: serde_json::Value = serde_json::from_str(&write("1.2.3").unwrap()).unwrap();
        assert_eq!(list["metadata"]["component"]["version"], "1.2.3");
        let components = list["components"].as_array().unwrap();
        let tokio = components.iter().find(|component| component["name"] == "tokio").unwrap();
        assert_eq!(tokio["licenses"][0]["expression"], "MIT");
        assert!(tokio["purl"].as_str().unwrap().starts_with("pkg:cargo/tokio@1."));
        assert!(!components.iter().any(|component| component["name"] == "proptest"), "only the binary's own");
    }
}
