"""A directive for the site: the operations and schemas of a service, from its OpenAPI document."""

import json

from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

METHODS = ("get", "put", "post", "patch", "delete")


def documents():
    """OpenAPI document of each service, with its default settings."""
    from service import Settings, create_app
    from service.collect import CollectSettings
    from service.collect import create_app as create_collect_app

    apps = {"rankcorr-serve": create_app(Settings()), "rankcorr-collect": create_collect_app(CollectSettings())}
    return {name: app.test_client().get("/openapi.json").json for name, app in apps.items()}


def resolve(document, part):
    """Return what a reference stands for, or the part itself."""
    while "$ref" in part:
        target = document
        for key in part["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        part = target
    return part


def kind(schema):
    """Type of a value in a few words; a named schema as a link to it."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#schema-{name.lower()})"
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(map(kind, schema[choice])))
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    types = schema.get("type", "any")
    types = [types] if isinstance(types, str) else types
    of = ""
    if "array" in types and schema.get("items"):
        of = f" of {kind(schema['items'])}"
    elif "object" in types and isinstance(schema.get("additionalProperties"), dict):
        of = f" of {kind(schema['additionalProperties'])}"
    return " or ".join(types) + of


def limits(schema):
    """Limits of a value, as the schema states them."""
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    parts = [f"{sign} {schema[key]:,}" for key, sign in signs.items() if key in schema]
    for key, unit in (("Length", "characters"), ("Items", "entries")):
        least, most = schema.get(f"min{key}"), schema.get(f"max{key}")
        parts += [f"at least {least} {unit}"] if least is not None else []
        parts += [f"at most {most:,} {unit}"] if most is not None else []
    return ", ".join(parts)


def cell(text):
    """Text that does not end its cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def properties(schema):
    """Table of an object's properties; nothing for other schemas."""
    rows = []
    for name, part in schema.get("properties", {}).items():
        needed = "yes" if name in schema.get("required", ()) else ""
        text = " ".join(filter(None, (part.get("description", ""), limits(part) and f"({limits(part)})")))
        rows.append(f"| `{name}` | {cell(kind(part))} | {needed} | {cell(text)} |")
    return ["| property | type | required | meaning |", "|---|---|---|---|", *rows, ""] if rows else []


def operation(document, path, method, details):
    """Paragraphs of one operation."""
    yield from (f"## {method.upper()} {path}", "", details.get("summary", ""), "", details.get("description", ""), "")
    parameters = [resolve(document, part) for part in details.get("parameters", [])]
    if parameters:
        yield from ("| parameter | in | type | meaning |", "|---|---|---|---|")
        for part in parameters:
            schema = part.get("schema", {})
            text = " ".join(filter(None, (part.get("description", ""), limits(schema) and f"({limits(schema)})")))
            yield f"| `{part['name']}` | {part['in']} | {cell(kind(schema))} | {cell(text)} |"
        yield ""
    if body := details.get("requestBody"):
        for media, content in resolve(document, body)["content"].items():
            yield from (f"Body, `{media}`: {kind(content.get('schema', {}))}.", "")
            if "example" in content:
                yield from ("```json", json.dumps(content["example"], indent=1, ensure_ascii=False), "```", "")
    yield from ("| status | answer |", "|---|---|")
    for status, answer in sorted(details["responses"].items()):
        response = resolve(document, answer)
        bodies = [kind(content.get("schema", {})) for content in response.get("content", {}).values()]
        text = response.get("description", "").rstrip(".")
        yield f"| {status} | {cell('. '.join(filter(None, (text, *dict.fromkeys(bodies)))))} |"
    yield ""


def page(document):
    """Lines of the page: operations in the order of the document, then the schemas that they name.

    Raises
    ------
    ExtensionError
        If the document has no operation: the build must fail, because a reader would take the page for complete.
    """
    if not document["paths"]:
        raise ExtensionError("the OpenAPI document lists no operation")
    for path, operations in document["paths"].items():
        shared = operations.get("parameters", [])
        for method in METHODS:
            if method in operations:
                parameters = [*shared, *operations[method].get("parameters", [])]
                yield from operation(document, path, method, {**operations[method], "parameters": parameters})
    for name, schema in document["components"]["schemas"].items():
        yield from (f"(schema-{name.lower()})=", f"## {name}", "", schema.get("description", ""), "")
        table = properties(schema)
        text = " ".join(filter(None, (kind(schema), limits(schema) and f"({limits(schema)})")))
        yield from table or (text, "")


class Operations(SphinxDirective):
    """Show the operations of the service that is named."""

    required_arguments = 1

    def run(self):
        """Parse the page as Markdown; labels of schemas begin with the service, because they must differ."""
        service = self.arguments[0]
        text = "\n".join(page(documents()[service])).replace("](#schema-", f"](#{service}-schema-")
        return self.parse_text_to_nodes(
            text.replace("\n(schema-", f"\n({service}-schema-"), allow_section_headings=True
        )


def setup(app):
    """Register the directive."""
    app.add_directive("operations", Operations)
    return {"parallel_read_safe": True}
