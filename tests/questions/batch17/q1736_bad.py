import torch
import torch.nn as nn
import torch.nn.functional as F


def build_model(width=12, classes=4):
    return nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, classes))


class FedAvg:
    def __init__(self, weights):
        self.weights = {k: w.clone() for k, w in weights.items()}

    def aggregate(self, updates):
        total = sum(count for _, count in updates)
        for state, count in updates:
            rate = count / total
            for k, w in state.items():
                self.weights[k] = self.weights[k] + w * rate
        return self.weights


class Trainer:
    def __init__(self, data, lr=0.05, local_epochs=2):
        self.x, self.y = data
        self.model = build_model()
        self.lr, self.local_epochs = lr, local_epochs

    def train(self, weights):
        self.model.load_state_dict(weights)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.lr)
        for _ in range(self.local_epochs):
            for rows in torch.randperm(len(self.x)).split(25):
                loss = F.cross_entropy(self.model(self.x[rows]), self.y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return {k: w.detach().clone() for k, w in self.model.state_dict().items()}, len(self.x)


def make_data(n, centres):
    y = torch.randint(len(centres), (n,))
    return centres[y] + torch.randn(n, centres.shape[1]), y


def main():
    torch.manual_seed(0)
    centres = torch.randn(4, 12)
    trainers = [Trainer(make_data(n, centres)) for n in (100, 150, 200, 250)]
    x_test, y_test = make_data(800, centres)
    global_model = build_model()
    aggregator = FedAvg(global_model.state_dict())
    for round_ in range(1, 11):
        weights = {k: w.clone() for k, w in global_model.state_dict().items()}
        updates = [trainer.train(weights) for trainer in trainers]
        global_model.load_state_dict(aggregator.aggregate(updates))
        with torch.no_grad():
            out = global_model(x_test)
            loss = F.cross_entropy(out, y_test).item()
            accuracy = (out.argmax(1) == y_test).float().mean().item()
            size = sum(w.pow(2).sum() for w in global_model.parameters()).sqrt().item()
        print(
            f"round {round_:2d}: test loss {loss:10.4f}, accuracy {accuracy:.4f}, norm of the global weights {size:9.3f}"
        )


if __name__ == "__main__":
    main()
