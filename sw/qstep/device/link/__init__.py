"""The link between host and device: frames, records, session, ports (``docs/link.md``)."""
