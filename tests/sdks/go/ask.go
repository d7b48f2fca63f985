// Asks a decision service by the client that is generated from its OpenAPI document.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"rangercdap/sdks/decisions"
)

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", os.Getenv("AUTHORIZATION"))
	return nil
}

func main() {
	client, err := decisions.NewClientWithResponses(os.Getenv("URL"), decisions.WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"alice", "mallory"} {
		question := decisions.OperationRequest{
			User:      user,
			Operation: "dataset.get",
			Entity:    decisions.OperationEntity{Type: "dataset", Parts: []string{"ns1", "kv"}},
		}
		reply, err := client.PostCdapV1OperationWithResponse(context.Background(), nil, question)
		if err != nil || reply.JSON200 == nil {
			panic(fmt.Sprint(err, reply))
		}
		fmt.Println(user, reply.JSON200.Allowed)
	}
}
