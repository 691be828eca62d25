"""The form of results: their base classes, tables as text, Markdown, LaTeX and HTML, and reports for a paper."""
