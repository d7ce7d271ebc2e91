package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code names a kind of failure. It is what a program should branch on; the
// message beside it is for people and may change.
type Code string

// The codes of the contract, each with its status in [Code.Status].
const (
	CodeValidation           Code = "validation_error"
	CodeUnauthorized         Code = "unauthorized"
	CodeSecondFactorRequired Code = "second_factor_required"
	CodeForbidden            Code = "forbidden"
	CodeStepUpFailed         Code = "step_up_failed"
	CodeConsentRequired      Code = "consent_required"
	CodePlanLimitExceeded    Code = "plan_limit_exceeded"
	CodeNotFound             Code = "not_found"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeConflict             Code = "conflict"
	CodeResetRequired        Code = "reset_required"
	CodeGone                 Code = "gone"
	CodePreconditionFailed   Code = "precondition_failed"
	CodePayloadTooLarge      Code = "payload_too_large"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeRateLimited          Code = "rate_limited"
	CodeAuthorizationPending Code = "authorization_pending"
	CodeSlowDown             Code = "slow_down"
	CodeInternal             Code = "internal_error"
	CodeUnavailable          Code = "unavailable"
)

var statuses = map[Code]int{
	CodeValidation:           http.StatusBadRequest,
	CodeUnauthorized:         http.StatusUnauthorized,
	CodeSecondFactorRequired: http.StatusUnauthorized,
	CodeForbidden:            http.StatusForbidden,
	CodeStepUpFailed:         http.StatusForbidden,
	CodeConsentRequired:      http.StatusForbidden,
	CodePlanLimitExceeded:    http.StatusForbidden,
	CodeNotFound:             http.StatusNotFound,
	CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	CodeConflict:             http.StatusConflict,
	CodeResetRequired:        http.StatusConflict,
	CodeGone:                 http.StatusGone,
	CodePreconditionFailed:   http.StatusPreconditionFailed,
	CodePayloadTooLarge:      http.StatusRequestEntityTooLarge,
	CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	CodeRateLimited:          http.StatusTooManyRequests,
	CodeAuthorizationPending: http.StatusBadRequest,
	CodeSlowDown:             http.StatusBadRequest,
	CodeInternal:             http.StatusInternalServerError,
	CodeUnavailable:          http.StatusServiceUnavailable,
}

// Codes lists every code of the contract, for tests and for documentation.
func Codes() []Code {
	codes := make([]Code, 0, len(statuses))
	for code := range statuses {
		codes = append(codes, code)
	}
	return codes
}

// Status is the HTTP status that goes with the code; 500 for an unknown one.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// FieldError says what is wrong with one field of a request. It never holds
// the offending value, which may be a secret.
type FieldError struct {
	Field   string `json:"field" doc:"Path of the field, as in body.tags[3]"`
	Message string `json:"message"`
}

// Error is a failure as it travels: made by a service, sent in the envelope,
// parsed by the client and turned into an exit code, unchanged on the way.
type Error struct {
	Code          Code
	Message       string
	Details       []FieldError
	CorrelationID string
	// RetryAfter is how long to wait before trying again, where the server
	// said so; it travels in the Retry-After header.
	RetryAfter time.Duration
}

// Errorf makes an error that may be shown to the caller: its message must
// hold no secret, no SQL, no server path and nothing of another tenant.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a validation error about one field.
func Invalid(field, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{
		Code:    CodeValidation,
		Message: field + ": " + message,
		Details: []FieldError{{Field: field, Message: message}},
	}
}

// InvalidFields is a validation error about several fields; nil for none.
func InvalidFields(details []FieldError) error {
	if len(details) == 0 {
		return nil
	}
	message := details[0].Field + ": " + details[0].Message
	if more := len(details) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return &Error{Code: CodeValidation, Message: message, Details: details}
}

// InvalidBody is [InvalidFields] of what is wrong with a request's body.
func InvalidBody(details []FieldError) error {
	for i := range details {
		details[i].Field = "body." + details[i].Field
	}
	return InvalidFields(details)
}

// Wrap says what failed, unless err is meant for the caller as it is.
func Wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (e *Error) Error() string {
	return string(e.Code) + ": " + e.Message
}

// Is lets errors.Is compare by code: errors.Is(err, &Error{Code: CodeGone}).
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Message == "" && other.Code == e.Code
}

// CodeOf is the code of the first *Error in err's chain; "" for nil and
// [CodeInternal] for any other error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Envelope is the JSON body of every failed request.
type Envelope struct {
	Error EnvelopeError `json:"error"`
}

// EnvelopeError is what the envelope holds.
type EnvelopeError struct {
	Code          Code         `json:"code"`
	Message       string       `json:"message"`
	CorrelationID string       `json:"correlation_id"`
	Details       []FieldError `json:"details,omitempty"`
}

// Envelope puts the error into its wire form.
func (e *Error) Envelope() Envelope {
	return Envelope{Error: EnvelopeError{
		Code: e.Code, Message: e.Message, CorrelationID: e.CorrelationID, Details: e.Details,
	}}
}
