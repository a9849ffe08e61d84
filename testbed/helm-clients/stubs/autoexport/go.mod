module go.opentelemetry.io/contrib/exporters/autoexport

go 1.26

require (
	go.opentelemetry.io/otel/sdk v1.46.0
	go.opentelemetry.io/otel/sdk/metric v1.46.0
)
