"""Write the contract in OpenAPI: the document, the blueprints that fill it, and the page that shows it."""
