"""The contract in the words of OpenAPI: the document, the blueprints that write it, and the page that shows it."""
