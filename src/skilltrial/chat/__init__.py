"""One model call over HTTP: what is sent, how it is retried, and what comes back as an AgentRun."""
