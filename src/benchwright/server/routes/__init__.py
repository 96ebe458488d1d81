"""What the server answers, one module per subject. Each holds a `router`; `app.ROUTERS` names them all."""
