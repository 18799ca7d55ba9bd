"""The report of an audit: one page for a browser, or Markdown for a ticket."""
