"""The report: data first (table, verdict), rendering second (text, figures, html)."""
