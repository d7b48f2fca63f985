"""OpenTelemetry traces and metrics, sent if the standard `OTEL_*` variables ask for it; nothing is imported if not."""
