package httpapi

import (
	"net/http"

	"github.com/spillway-media/spillway/internal/media"
)

// The codes that only the edge knows.
const (
	codeSignatureMissing media.Code = "signature-missing"
	codeSignatureInvalid media.Code = "signature-invalid"
	codeSignatureExpired media.Code = "signature-expired"
	codeNotFound         media.Code = "not-found"
	codeMethod           media.Code = "method-not-allowed"
	codeURLTooLong       media.Code = "url-too-long"
	codeRange            media.Code = "range-not-satisfiable"
	codeNotReady         media.Code = "not-ready"
	codeInternal         media.Code = "internal"

	codeUnauthorized   media.Code = "unauthorized"
	codeReadOnly       media.Code = "read-only-token"
	codeInvalidBody    media.Code = "invalid-body"
	codeInvalidJob     media.Code = "invalid-job"
	codeBodyTooLarge   media.Code = "body-too-large"
	codeUploadTooLarge media.Code = "upload-too-large"
	codeBodyTimeout    media.Code = "body-timeout"
	codeNoJob          media.Code = "job-not-found"
	codeNoOutput       media.Code = "output-not-found"
	codeJobState       media.Code = "job-state"
	codeKeyReused      media.Code = "idempotency-key-reused"
	codeStore          media.Code = "store-unavailable"
)

// statusClientGone is what the log says of a request nobody waited for. No
// answer ever carries it.
const statusClientGone = 499

// verdict is how a code is told over HTTP.
type verdict struct {
	status int
	title  string
	// lasting faults will be the same for the next client, so that caches
	// may keep them when the configuration lets them.
	lasting bool
}

// verdicts is the one table from codes to statuses.
var verdicts = map[media.Code]verdict{
	media.CodeInvalidParameter: {http.StatusBadRequest, "A parameter is not valid", false},
	media.CodeUnwritable:       {http.StatusBadRequest, "The format cannot be written here", false},

	codeSignatureMissing:      {http.StatusForbidden, "The URL is not signed", false},
	codeSignatureInvalid:      {http.StatusForbidden, "The signature is wrong", false},
	codeSignatureExpired:      {http.StatusForbidden, "The URL has expired", false},
	media.CodeSourceForbidden: {http.StatusForbidden, "The source is not allowed", false},

	codeNotFound:             {http.StatusNotFound, "There is nothing at this path", false},
	media.CodeSourceNotFound: {http.StatusNotFound, "The source does not exist", true},
	codeMethod:               {http.StatusMethodNotAllowed, "The method is not allowed", false},
	media.CodeSourceTooLarge: {http.StatusRequestEntityTooLarge, "The source is too large", false},
	codeURLTooLong:           {http.StatusRequestURITooLong, "The URL is too long", false},
	codeRange:                {http.StatusRequestedRangeNotSatisfiable, "The range lies outside the picture", false},
	media.CodeUnsupported:    {http.StatusUnsupportedMediaType, "The source is not a picture that can be read", true},
	media.CodeDecodeFailed:   {http.StatusUnprocessableEntity, "The source is broken", true},
	media.CodePixels:         {http.StatusUnprocessableEntity, "The source has too many pixels", true},
	media.CodeFrames:         {http.StatusUnprocessableEntity, "The source has too many frames", true},
	media.CodeScans:          {http.StatusUnprocessableEntity, "The JPEG has too many scans", true},
	media.CodeSVG:            {http.StatusUnprocessableEntity, "The SVG is too complex", true},
	media.CodeMetadata:       {http.StatusUnprocessableEntity, "The metadata is too large", true},
	media.CodePage:           {http.StatusUnprocessableEntity, "The page cannot be shown", true},
	media.CodeOutputSide:     {http.StatusUnprocessableEntity, "The result would be too wide or too high", true},
	media.CodeOutputBytes:    {http.StatusUnprocessableEntity, "The result is too large", true},
	media.CodeMemory:         {http.StatusUnprocessableEntity, "The picture needs too much memory", true},
	media.CodeTimeout:        {http.StatusUnprocessableEntity, "The transform took too long", false},
	media.CodeCancelled:      {statusClientGone, "The client went away", false},
	media.CodeEncodeFailed:   {http.StatusInternalServerError, "The result could not be written", false},
	codeInternal:             {http.StatusInternalServerError, "The server made a mistake", false},
	media.CodeSourceFailed:   {http.StatusBadGateway, "The source failed", false},
	media.CodeOverloaded:     {http.StatusServiceUnavailable, "The server is busy", false},
	codeNotReady:             {http.StatusServiceUnavailable, "The server is not ready", false},
	media.CodeSourceTimeout:  {http.StatusGatewayTimeout, "The source is too slow", false},

	media.CodeSourceUnavailable: {http.StatusServiceUnavailable, "The source is not available", false},

	codeInvalidBody:    {http.StatusBadRequest, "The body cannot be read", false},
	codeUnauthorized:   {http.StatusUnauthorized, "A token is needed", false},
	codeReadOnly:       {http.StatusForbidden, "The token may only ask", false},
	codeNoJob:          {http.StatusNotFound, "The job does not exist", false},
	codeNoOutput:       {http.StatusNotFound, "The output does not exist", false},
	codeBodyTimeout:    {http.StatusRequestTimeout, "The body did not arrive", false},
	codeJobState:       {http.StatusConflict, "The job's state does not allow it", false},
	codeBodyTooLarge:   {http.StatusRequestEntityTooLarge, "The body is too large", false},
	codeUploadTooLarge: {http.StatusRequestEntityTooLarge, "The upload is too large", false},
	codeInvalidJob:     {http.StatusUnprocessableEntity, "The job is not valid", false},
	codeKeyReused:      {http.StatusUnprocessableEntity, "The idempotency key belongs to another job", false},
	codeStore:          {http.StatusServiceUnavailable, "The store of jobs is not available", false},
}

// Codes lists every code an answer can carry with its status; the reference
// in docs is held to it.
func Codes() map[media.Code]int {
	codes := make(map[media.Code]int, len(verdicts))
	for code, v := range verdicts {
		codes[code] = v.status
	}
	return codes
}
