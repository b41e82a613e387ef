import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

CLIENTS, ROUNDS, CLASSES = 6, 8, 6


def flat(state):
    return torch.cat([value.flatten() for value in state.values()]).clone()


class Client:
    def __init__(self, ID, model, data):
        self.ID, self.model, self.data = ID, model, data
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def callback_for_model_para(self, content, generator):
        self.model.load_state_dict(content)
        start = flat(self.model.state_dict())
        x, y = self.data
        for _ in range(3):
            for rows in torch.randperm(len(x), generator=generator).split(32):
                loss = F.cross_entropy(self.model(x[rows]), y[rows])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        return start, copy.deepcopy(self.model.state_dict())


class Server:
    def __init__(self, model):
        self.model = model
        self.clients = []

    def broadcast_model_para(self):
        return copy.deepcopy(self.model.state_dict())

    def aggregate(self, results):
        return {k: torch.stack([r[k] for r in results]).mean(0) for k in results[0]}

    def run_round(self, generator):
        model_para = self.broadcast_model_para()
        sent = flat(model_para)
        results, drift = [], []
        for client in self.clients:
            start, result = client.callback_for_model_para(model_para, generator)
            results.append(result)
            drift.append((start - sent).norm().item())
        self.model.load_state_dict(self.aggregate(results))
        return drift


def make_data(n, classes, generator):
    centers = torch.randn(CLASSES, 10, generator=torch.Generator().manual_seed(5))
    y = classes[torch.randint(0, len(classes), (n,), generator=generator)]
    return centers[y] + 1.0 * torch.randn(n, 10, generator=generator), y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    server = Server(model)
    for ID in range(CLIENTS):
        classes = torch.tensor([ID % CLASSES, (ID + 1) % CLASSES])
        server.clients.append(Client(ID, model, make_data(256, classes, generator)))
    x_test, y_test = make_data(1000, torch.arange(CLASSES), generator)
    for r in range(ROUNDS):
        drift = server.run_round(generator)
        with torch.no_grad():
            accuracy = (server.model(x_test).argmax(1) == y_test).float().mean().item()
        if r % 2 == 1:
            start = " ".join(f"{d:.2f}" for d in drift)
            print(f"round {r}: accuracy {accuracy:.3f}, clients start away from what was sent: {start}")


if __name__ == "__main__":
    main()
