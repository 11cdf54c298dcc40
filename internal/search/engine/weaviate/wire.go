package weaviate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The methods of the service.
const (
	methodSearch = "/weaviate.v1.Weaviate/Search"
	methodPut    = "/weaviate.v1.Weaviate/BatchObjects"
	methodDelete = "/weaviate.v1.Weaviate/BatchDelete"
)

// Field numbers of the messages of the service, version 1.
const (
	// SearchRequest
	requestCollection  = 1
	requestTenant      = 10
	requestConsistency = 11
	requestProperties  = 20
	requestMetadata    = 21
	requestLimit       = 30
	requestFilters     = 40
	requestBM25        = 42
	requestNearVector  = 43
	requestUses127     = 102
	// PropertiesRequest, MetadataRequest, BM25, NearVector
	propertiesNames  = 1
	metadataID       = 1
	metadataDistance = 5
	metadataScore    = 7
	bm25Query        = 1
	bm25Properties   = 2
	nearVectorVector = 4
	// SearchReply, SearchResult, PropertiesResult, MetadataResult
	replyResults     = 2
	resultProperties = 1
	resultMetadata   = 2
	resultValues     = 11
	resultID         = 1
	resultDistance   = 7
	resultScore      = 11
	resultIDBytes    = 20
	// Properties and Value of a result
	valuesFields = 1
	valueNumber  = 1
	valueString  = 2
	valueUUID    = 7
	valueInt     = 8
	valueText    = 13
	// Filters, FilterTarget, TextArray
	filterOperator = 1
	filterFilters  = 3
	filterInt      = 5
	filterBool     = 6
	filterTexts    = 9
	filterTarget   = 20
	targetProperty = 1
	textsValues    = 1
	// BatchObjectsRequest, BatchObject, BatchObject.Properties, TextArrayProperties
	batchObjects     = 1
	batchConsistency = 2
	objectUUID       = 1
	objectProperties = 3
	objectCollection = 4
	objectTenant     = 5
	objectVector     = 6
	objectStruct     = 1
	objectTexts      = 6
	arrayValues      = 1
	arrayName        = 2
	// BatchObjectsReply, BatchError
	batchErrors = 2
	errorIndex  = 1
	errorText   = 2
	// BatchDeleteRequest, BatchDeleteReply
	deleteCollection  = 1
	deleteFilters     = 2
	deleteConsistency = 5
	deleteTenant      = 6
	deletedFailed     = 2
	deletedMatches    = 3
	deletedSuccessful = 4
	// google.protobuf.Struct and Value; an entry of a map
	structFields = 1
	structNumber = 2
	structString = 3
	structBool   = 4
	entryKey     = 1
	entryValue   = 2
)

// The levels of consistency. The engine counts only replicas on nodes that it believes to
// be alive.
const (
	consistencyOne = 1
	consistencyAll = 3
)

// message is an encoded message that grows.
type message []byte

func (m *message) bytes(field protowire.Number, value []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), value)
}

func (m *message) text(field protowire.Number, value string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), value)
}

func (m *message) integer(field protowire.Number, value int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(value)) //nolint:gosec // as the format has it
}

func (m *message) boolean(field protowire.Number, value bool) {
	m.integer(field, int64(protowire.EncodeBool(value))) //nolint:gosec // 0 or 1
}

func (m *message) double(field protowire.Number, value float64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), math.Float64bits(value))
}

// vectorBytes returns the components as the engine reads them.
func vectorBytes(vector []float32) []byte {
	out := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// field is one field of a message that was read.
type field struct {
	number protowire.Number
	bits   uint64 // of a number
	bytes  []byte // of a text or a message
}

var errMessage = errors.New("not a message of the engine")

// each calls f for every field of a message.
func each(b []byte, f func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", errMessage, protowire.ParseError(n))
		}
		b = b[n:]
		found := field{number: number}
		switch kind {
		case protowire.VarintType:
			found.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			found.bits, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(b)
			found.bits = uint64(bits)
		case protowire.BytesType:
			found.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", errMessage, protowire.ParseError(n))
		}
		b = b[n:]
		if err := f(found); err != nil {
			return err
		}
	}
	return nil
}
