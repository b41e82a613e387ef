import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class FedProxClient:
    def __init__(self, dataset, mu, local_epoch=5, lr=0.1):
        self.x, self.y = dataset
        self.mu, self.local_epoch, self.lr = mu, local_epoch, lr

    def set_parameters(self, global_model):
        self.model = copy.deepcopy(global_model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.lr)

    def fit(self):
        self.model.train()
        global_params = [w.detach().clone() for w in self.model.parameters()]
        for _ in range(self.local_epoch):
            for rows in torch.randperm(len(self.x)).split(20):
                loss = F.cross_entropy(self.model(self.x[rows]), self.y[rows])
                self.optimizer.zero_grad()
                loss.backward()
                for w, w_t in zip(self.model.parameters(), global_params):
                    w.grad.data += self.mu * (w.data - w_t.data)
                self.optimizer.step()
        return {k: v.clone() for k, v in self.model.state_dict().items()}


class FedProxServer:
    def __init__(self, clients, width, classes):
        torch.manual_seed(1)
        self.clients = clients
        self.model = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, classes))

    def train_one_round(self):
        before = [p.detach().clone() for p in self.model.parameters()]
        packages, drift = [], 0.0
        for client in self.clients:
            client.set_parameters(self.model)
            packages.append(client.fit())
            after = client.model.parameters()
            drift += sum((a.detach() - b).pow(2).sum() for a, b in zip(after, before)).sqrt().item()
        average = {k: sum(p[k] for p in packages) / len(packages) for k in packages[0]}
        self.model.load_state_dict(average)
        return drift / len(self.clients)


def partition(classes=6, width=16, clients=6, samples=120):
    torch.manual_seed(0)
    centres = 0.8 * torch.randn(classes, width)
    datasets = []
    for c in range(clients):
        own = torch.tensor([c % classes, (c + 1) % classes])
        y = own[torch.randint(2, (samples,))]
        datasets.append((centres[y] + torch.randn(samples, width), y))
    y = torch.randint(classes, (900,))
    return datasets, (centres[y] + torch.randn(900, width), y)


def main():
    datasets, (x, y) = partition()
    for mu in (0.0, 0.5, 3.0):
        server = FedProxServer([FedProxClient(d, mu) for d in datasets], x.shape[1], 6)
        for _ in range(6):
            drift = server.train_one_round()
        accuracy = (server.model(x).argmax(1) == y).float().mean().item()
        print(
            f"mu {mu:3.1f}: mean distance of a client from the global model {drift:.6f}, accuracy {accuracy:.4f}"
        )


if __name__ == "__main__":
    main()
