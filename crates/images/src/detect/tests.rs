//! Detection in charts of every supported shape.

use pintle_chart::metadata::Dependency;

use super::*;

fn chart(name: &str, values: &str) -> Chart {
    let mut chart = Chart::default();
    chart.metadata.name = name.to_owned();
    chart.metadata.version = "1.0.0".to_owned();
    chart.metadata.app_version = "4.1".to_owned();
    chart.values = pintle_yaml::read_values(values.as_bytes()).unwrap();
    chart
}

fn found(values: &str) -> Vec<String> {
    let chart = chart("demo", values);
    let detection = detect(&Scopes::new(&chart, &chart), &Map::new(), &chart.values, &PathFilter::default());
    detection.images.iter().map(line).collect()
}

fn line(finding: &Finding) -> String {
    let mut line = format!("{} {} {}", finding.path, finding.shape.name(), finding.written);
    for issue in &finding.issues {
        line.push_str(&format!(" !{}", issue.name()));
    }
    line
}

#[test]
fn every_shape_of_charts_is_found() {
    let table = [
        ("image: web:1.2", "image string web:1.2"),
        ("image: nginx", "image string nginx"),
        ("image: {registry: quay.io, repository: team/api, tag: v2}", "image map quay.io/team/api:v2"),
        ("image: {repository: team/api, tag: v2}", "image map team/api:v2"),
        ("image: {repository: quay.io/team/api, tag: ''}", "image map quay.io/team/api"),
        ("image: {repository: team/api}", "image map team/api !RepositoryOnly"),
        ("image: {repository: team/api, tag: 3}", "image map team/api:3 !NonStringTag"),
        ("image: {registry: r.io, image: a/b, tag: v1}", "image map r.io/a/b:v1"),
        ("image: {registry: cr.l5d.io/linkerd, name: init, tag: v1}", "image map cr.l5d.io/linkerd/init:v1"),
        ("image: {name: cr.l5d.io/linkerd/cni, version: v1}", "image map cr.l5d.io/linkerd/cni:v1"),
        ("image: {repository: gcr.io/team, name: api, tag: v1}", "image map gcr.io/team/api:v1"),
        ("image: {repo: docker.io/library/telegraf, tag: '1'}", "image map docker.io/library/telegraf:1"),
        ("web: {repository: a/b, pullPolicy: Always, tag: x}", "web map a/b:x"),
        ("{hub: docker.io/istio, image: proxyv2, tag: 1.2.3}", " siblings docker.io/istio/proxyv2:1.2.3"),
        ("{image: a/b, imageTag: c}", " siblings a/b:c"),
        ("{image: a/b, tag: c}", " siblings a/b:c"),
        ("{image: a/b:x, tag: c}", "image string a/b:x"),
        ("{testImage: a/b, testImageTag: c}", " siblings a/b:c"),
        ("{operatorImageRepository: a/b, operatorImageTag: c}", " siblings a/b:c"),
        ("{controllerImage: cr.io/a/b, controllerImageVersion: c}", " siblings cr.io/a/b:c"),
        ("images: {operator: ghcr.io/a/op, tag: x}", "images.operator string ghcr.io/a/op"),
        ("images: {web: {repository: a/b, tag: c}}", "images.web map a/b:c"),
        ("images: [a/b:1]", "images[0] string a/b:1 !List"),
        ("containers: [{name: x, image: a/b:1}]", "containers[0].image string a/b:1 !List"),
        ("initImage: a/b:1", "initImage string a/b:1"),
        ("image: '{{ .Values.x }}'", "image string {{ .Values.x }} !HelmTemplate"),
        ("image: invalid::image", "image string invalid::image !Unparsable"),
        ("image: 'docker.io/MyApp/Image:1'", "image string docker.io/MyApp/Image:1 !Unparsable"),
        ("extra: |\n  - name: a\n    image: quay.io/a/b:1\n", "extra embedded quay.io/a/b:1"),
        ("extra: '{\"image\": \"quay.io/a/b:1\"}'", "extra embedded quay.io/a/b:1"),
    ];
    for (values, expected) in table {
        assert_eq!(found(values), [expected], "{values}");
    }
}

#[test]
fn ir_13_what_is_no_image_is_not_found() {
    let table = [
        "git: {repository: 'https://github.com/team/api.git', tag: v1}",
        "git: {repository: 'git@github.com:team/api.git', tag: v1}",
        "git: {repository: github.com/team/api, tag: v1}",
        "chart: {repository: 'https://charts.example.com', version: '1'}",
        "backup: {repository: team/api}",
        "logoImage: https://example.com/logo.png",
        "image: logo.png",
        "imagePullPolicy: Always",
        "image: ''",
        "image: {repository: '', tag: ''}",
        "note: the image is at quay.io",
    ];
    for values in table {
        assert_eq!(found(values), [""; 0], "{values}");
    }
}

#[test]
fn digests_are_found_in_all_their_places() {
    let hex = "a".repeat(64);
    let digest = format!("sha256:{hex}");
    let table = [
        (format!("image: quay.io/a/b@{digest}"), format!("image string quay.io/a/b@{digest}")),
        (
            format!("image: quay.io/a/b:1@{digest}"),
            format!("image string quay.io/a/b:1@{digest} !TagAndDigest"),
        ),
        (format!("image: {{repository: a/b, tag: 'v1@{digest}'}}"), format!("image map a/b:v1@{digest}")),
        (
            format!("image: {{repository: a/b, tag: v1, digest: '{digest}'}}"),
            format!("image map a/b:v1@{digest}"),
        ),
        (format!("image: {{repository: a/b, tag: v1, sha: '{hex}'}}"), format!("image map a/b:v1@{digest}")),
        (format!("image: {{repository: a/b, tag: '{digest}'}}"), format!("image map a/b@{digest}")),
    ];
    for (values, expected) in table {
        assert_eq!(found(&values), [expected], "{values}");
    }
}

#[test]
fn ir_12_an_empty_tag_means_the_version_of_the_application() {
    let chart = chart("demo", "image: {repository: quay.io/a/b, tag: ''}\nother: {image: nginx}");
    let detection = detect(&Scopes::new(&chart, &chart), &Map::new(), &chart.values, &PathFilter::default());
    let tags: Vec<_> = detection.images.iter().map(|image| image.assumed_tag.as_deref()).collect();
    assert_eq!(tags, [Some("4.1"), Some("latest")]);
}

#[test]
fn registries_for_all_images_are_found_once() {
    let mut parent = chart("parent", "global: {imageRegistry: quay.io, image: {registry: ''}}");
    parent.subcharts.push(chart("db", "global: {hub: x.io}"));
    let mut log = Vec::new();
    let values =
        pintle_values::coalesce(&parent, &Map::new(), pintle_values::NullRules::Helm4, &mut log).unwrap();
    let detection = detect(&Scopes::new(&parent, &parent), &Map::new(), &values, &PathFilter::default());
    let globals: Vec<String> = detection.globals.iter().map(|global| global.path.to_string()).collect();
    assert_eq!(globals, ["db.global.hub", "global.image.registry", "global.imageRegistry"]);
}

#[test]
fn subcharts_are_found_by_alias_and_only_if_they_take_part() {
    let mut parent =
        chart("parent", "db: {image: {tag: parent}}\ncache: {image: a/never:1}\nstore: {enabled: true}");
    let dependency = |name: &str, alias: &str, condition: &str| Dependency {
        name: name.to_owned(),
        alias: alias.to_owned(),
        version: "*".to_owned(),
        condition: condition.to_owned(),
        ..Dependency::default()
    };
    parent.metadata.declares_dependencies = true;
    parent.metadata.dependencies =
        vec![dependency("db", "store", ""), dependency("cache", "", "cache.enabled")];
    parent.subcharts.push(chart("db", "image: {repository: team/db, tag: child}"));
    parent.subcharts.push(chart("cache", "enabled: false\nimage: {repository: team/cache, tag: child}"));
    let user = pintle_yaml::read_values(b"store: {image: {tag: mine}}").unwrap();
    let mut log = Vec::new();
    let rules = pintle_values::NullRules::Helm4;
    let processed = pintle_values::process_dependencies(parent.clone(), &user, rules, &mut log).unwrap();
    let values = pintle_values::coalesce(&processed, &user, rules, &mut log).unwrap();
    let detection = detect(&Scopes::new(&parent, &processed), &user, &values, &PathFilter::default());
    let lines: Vec<_> = detection.images.iter().map(line).collect();
    assert_eq!(lines, ["store.image map team/db:mine"]);
    assert_eq!(detection.images[0].origin, Origin::Chart("parent/charts/store".to_owned()));
    assert_eq!(detection.images[0].chart, "parent/charts/store");
}
