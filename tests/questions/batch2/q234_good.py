import torch
import torch.nn as nn


class GSgnnLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.w_self = nn.Linear(n_in, n_out)
        self.w_neigh = nn.Linear(n_in, n_out, bias=False)

    def forward(self, adj, h):
        return self.w_self(h) + self.w_neigh(adj @ h)


class NodeModel(nn.Module):
    def __init__(self, n_in, hidden, classes):
        super().__init__()
        self.layer1 = GSgnnLayer(n_in, hidden)
        self.layer2 = GSgnnLayer(hidden, hidden)
        self.decoder = nn.Linear(hidden, classes)

    def forward(self, adj, x):
        h = torch.relu(self.layer1(adj, x))
        return self.decoder(torch.relu(self.layer2(adj, h)))


class GSgnnNodePredictionTrainer:
    def __init__(self, model, lr=0.3):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.loss_func = nn.CrossEntropyLoss()

    def fit(self, adj, x, labels, num_epochs, max_grad_norm=None, grad_norm_type=2.0):
        model = self.model
        for epoch in range(num_epochs):
            model.train()
            for idx in torch.randperm(len(labels)).split(50):
                loss = self.loss_func(model(adj, x)[idx], labels[idx])
                self.optimizer.zero_grad()
                loss.backward()
                if max_grad_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm, grad_norm_type)
                self.optimizer.step()
            acc = self.evaluate(adj, x, labels)
            print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")

    @torch.no_grad()
    def evaluate(self, adj, x, labels):
        self.model.eval()
        return (self.model(adj, x).argmax(1) == labels).float().mean().item()


def make_graph(n=200, classes=3):
    labels = torch.randint(0, classes, (n,))
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    adj = (torch.rand(n, n) < torch.where(same, 0.08, 0.01)).float()
    return adj, torch.randn(n, 8) + 2 * nn.functional.one_hot(labels, 8), labels


torch.manual_seed(0)
adj, x, labels = make_graph()
trainer = GSgnnNodePredictionTrainer(NodeModel(8, 32, 3))
trainer.fit(adj, x, labels, num_epochs=15, max_grad_norm=1.0)
