//! The page: one file, no foreign markup, no requests.

use wfe_report::html;

use super::fixture;

/// Elements that are never closed.
const VOID: [&str; 2] = ["meta", "br"];

/// Walks over all tags and checks that they nest; answers the names of all elements.
fn elements(page: &str) -> Vec<String> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!doctype html>").expect("it begins as HTML does");
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let tag = &rest[..rest.find('>').expect("every tag ends")];
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default().to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "</{name}> closes another element");
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        // A script or a style holds text alone.
        if name == "script" || name == "style" {
            let end = format!("</{name}");
            rest = if tag.starts_with('/') { rest } else { &rest[rest.find(&end).expect("it is closed")..] };
        }
        all.push(name);
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    all
}

#[test]
fn the_page_is_well_formed_and_small() {
    for run in [fixture::elasticity(), fixture::troubled(), fixture::large()] {
        let page = html(&run.document());
        let all = elements(&page);
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
        for name in ["svg", "figure", "dl", "h1", "nav"] {
            assert!(all.iter().any(|element| element == name), "no {name}");
        }
        let headings = page.matches("<th ").count();
        assert_eq!(headings, page.matches("<th scope=").count(), "every table heading says what it heads");
    }
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = html(&fixture::elasticity().document());
    assert!(page.contains(
        "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"
    ));
    for reference in ["http://", "https://", "src=", "url(", "@import", "fetch(", "XMLHttpRequest", "<link", "<img"] {
        assert!(!page.contains(reference), "{reference}");
    }
    let inline = ["onclick=\"", "onload=\"", "javascript:"];
    assert!(inline.iter().all(|handler| !page.contains(handler)));
}

#[test]
fn the_policy_names_the_script_that_is_there() {
    use base64::Engine;
    use sha2::Digest;
    let page = html(&fixture::troubled().document());
    let (_, rest) = page.rsplit_once("<script>").expect("there is a script");
    let script = rest.split("</script>").next().unwrap_or_default();
    let digest = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(script));
    assert!(page.contains(&format!("'sha256-{digest}'")));
}

#[test]
fn foreign_text_is_never_markup() {
    let page = html(&fixture::hostile().document());
    elements(&page);
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("</script>\"'&]]"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;]]&gt;"));
    assert_eq!(page.matches("<script").count(), 2, "the page's own data and script");
}

#[test]
fn simulated_and_partial_runs_say_so() {
    let mut run = fixture::troubled();
    assert_eq!(html(&run.document()).matches("class=\"simulated\"").count(), 2, "at the top and at the end");
    run.entries.truncate(run.entries.len() - 1);
    let page = html(&run.document());
    assert!(page.contains("class=\"partial\"") && page.contains("<title>not ended"));
    let wfe_core::Event::RunStarted(started) = &mut run.entries[0].event else { panic!("it is the first event") };
    started.simulated = false;
    assert!(!html(&run.document()).contains("class=\"simulated\""));
}

#[test]
fn any_beginning_of_a_run_makes_a_report() {
    let mut run = fixture::troubled();
    while run.entries.len() > 1 {
        elements(&html(&run.document()));
        run.entries.pop();
    }
    elements(&html(&run.document()));
}

#[test]
fn the_plugin_orders_the_sections() {
    let page = html(&fixture::hostile().document());
    let place = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
    assert!(place("verdict") < place("limits") && place("limits") < place("own-2") && place("own-3") < place("story"));
}
