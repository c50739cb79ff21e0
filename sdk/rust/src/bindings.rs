//! What `wit-bindgen` makes of `sdk/wit`.
#![allow(missing_docs, clippy::all, reason = "generated; the contract documents it")]

wit_bindgen::generate!({
    path: "../wit",
    world: "plugin",
    generate_all,
    additional_derives: [PartialEq],
    runtime_path: "wfe_sdk::__private::rt",
    pub_export_macro: true,
    export_macro_name: "export_plugin",
    default_bindings_module: "wfe_sdk::__private::bindings",
});
