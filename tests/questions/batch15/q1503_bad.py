import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class OneCNN(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 12, 5, padding=2), nn.BatchNorm1d(12), nn.ReLU(), nn.MaxPool1d(4)
        )
        self.classifier = nn.Sequential(
            nn.Linear(96, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, num_classes)
        )

    def forward(self, x):
        return self.classifier(self.features(x[:, None]).flatten(1))


class Client:
    def __init__(self, training_set):
        self.training_set = training_set
        self.model = None

    def download(self, model):
        self.model = copy.deepcopy(model)

    def update(self, lr, epochs=2):
        x, y = self.training_set
        self.model.train()
        optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        total = 0.0
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(20):
                loss = F.cross_entropy(self.model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item() * len(rows) / len(x) / epochs
        return total

    def upload(self):
        return self.model.named_parameters()


class Server:
    def __init__(self, model, clients):
        self.global_model = model
        self.clients = clients

    def aggregate(self):
        coefficients = [len(c.training_set[0]) for c in self.clients]
        mixed = copy.deepcopy(self.global_model.state_dict())
        for client, n in zip(self.clients, coefficients):
            for name, value in client.upload():
                share = (value.detach() - self.global_model.state_dict()[name]) * (n / sum(coefficients))
                mixed[name] = mixed[name] + share.to(mixed[name].dtype)
        self.global_model.load_state_dict(mixed)

    def central_evaluate(self, x, y):
        self.global_model.eval()
        with torch.no_grad():
            out = self.global_model(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def fit(self, rounds, test_set):
        for r in range(rounds):
            losses = []
            for client in self.clients:
                client.download(self.global_model)
                losses.append(client.update(lr=0.02))
            self.aggregate()
            loss, accuracy = self.central_evaluate(*test_set)
            print(
                f"round {r}: clients' loss {sum(losses) / len(losses):.3f}  server: loss {loss:.3f} acc {accuracy:.3f}"
            )


def iid_split(clients=6, num_classes=8, length=32):
    shapes = 4.0 * torch.randn(num_classes, length)
    y = torch.randint(num_classes, (1500,))
    x = 6.0 + shapes[y] + 5.0 * torch.randn(len(y), length)
    train = list(zip(x[:900].chunk(clients), y[:900].chunk(clients)))
    return train, (x[900:], y[900:])


def main():
    torch.manual_seed(0)
    train, test_set = iid_split()
    Server(OneCNN(8), [Client(part) for part in train]).fit(rounds=10, test_set=test_set)


if __name__ == "__main__":
    main()
