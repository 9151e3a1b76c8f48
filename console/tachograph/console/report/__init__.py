"""The run report: rows of one run, made into one document, shown as JSON, Markdown, HTML or a page of terminal."""
