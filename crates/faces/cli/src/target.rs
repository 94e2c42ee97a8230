//! Something that runs, as the user names it: `docker:NAME`, `netns:NAME`, `pid:N` and so on.

use audit::ContainerProcess;

/// What a `KIND:NAME` names.
pub enum Named {
    /// A network namespace of `ip netns`.
    Namespace(String),
    Process(u32),
    Container(ContainerProcess),
    /// Any container of a pod.
    Pod(ContainerProcess),
}

impl Named {
    /// Finds it; `text` is the whole argument, for messages. `None` for another kind.
    ///
    /// # Errors
    /// Fails if the name is wrong, or there is no such container.
    pub fn find(text: &str, kind: &str, name: &str) -> Result<Option<Named>, String> {
        let bad = |why: &str| format!("{text}: {why}");
        Ok(Some(match kind {
            "netns" if name.contains('/') => return Err(bad("the name of a namespace contains no `/`")),
            "netns" => Named::Namespace(name.into()),
            "pid" => {
                Named::Process(name.parse().map_err(|_| bad("expected pid:N with the number of a process"))?)
            }
            "docker" | "podman" => container(text, &format!("{kind} {name}"), name)?,
            "k8s" => match name.split('/').collect::<Vec<_>>()[..] {
                [namespace, pod] => {
                    let found = audit::find_pod(namespace, pod);
                    Named::Pod(found.map_err(|e| bad(&e))?)
                }
                [_, _, _] => container(text, name, name)?,
                _ => return Err(bad("expected k8s:NAMESPACE/POD or k8s:NAMESPACE/POD/CONTAINER")),
            },
            "clab" => {
                let (lab, node) = name.split_once('/').ok_or_else(|| bad("expected clab:LAB/NODE"))?;
                // How containerlab names its containers, unless the topology sets another prefix.
                let name = format!("clab-{lab}-{node}");
                container(text, &name, &name)?
            }
            _ => return Ok(None),
        }))
    }
}

/// Finds a container by the name that `longfat check` shows, or by its id.
fn container(text: &str, name: &str, id: &str) -> Result<Named, String> {
    let found = audit::find_container(name).or_else(|first| audit::find_container(id).map_err(|_| first));
    found.map(Named::Container).map_err(|e| format!("{text}: {e}"))
}
