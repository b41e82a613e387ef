import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


def make_graph(n=800, classes=5, dim=16, p_in=0.012, p_out=0.004):
    y = torch.randint(0, classes, (n,))
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    adj = (torch.rand(n, n) < prob).float().triu(1)
    adj = adj + adj.t() + torch.eye(n)
    deg = adj.sum(1)
    adj = adj / deg[:, None].sqrt() / deg[None, :].sqrt()
    centers = torch.randn(classes, dim) * 0.45
    x = centers[y] + torch.randn(n, dim)
    perm = torch.randperm(n)
    masks = {}
    for name, idx in (("train", perm[:100]), ("valid", perm[100:250]), ("test", perm[250:])):
        m = torch.zeros(n, dtype=torch.bool)
        m[idx] = True
        masks[name] = m
    return x, adj, y, masks


class MLP(nn.Module):
    def __init__(self, dim, hidden, classes):
        super().__init__()
        self.lin1 = nn.Linear(dim, hidden)
        self.bn = nn.BatchNorm1d(hidden)
        self.lin2 = nn.Linear(hidden, classes)

    def forward(self, x):
        h = F.relu(self.bn(self.lin1(x)))
        h = F.dropout(h, 0.3, self.training)
        return self.lin2(h)


class Ensemble:
    def __init__(self, dim, classes, hops=4, threshold=0.8):
        self.hops = hops
        self.threshold = threshold
        self.model = MLP(dim, 64, classes)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01, weight_decay=1e-3)

    def train_weak_learner(self, x, labels, mask, epochs=60):
        for _ in range(epochs):
            self.model.train()
            self.optimizer.zero_grad()
            out = self.model(x[mask])
            loss = F.cross_entropy(out, labels[mask])
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def train_and_test(self, x, adj, y, split_masks):
        pseudo_labels = torch.zeros_like(y)
        pseudo_labels[split_masks["train"]] = y[split_masks["train"]]
        pseudo_split_masks = copy.deepcopy(split_masks)
        results = torch.zeros(len(y), int(y.max()) + 1)
        for hop in range(self.hops):
            loss = self.train_weak_learner(x, pseudo_labels, pseudo_split_masks["train"])
            self.model.eval()
            with torch.no_grad():
                out = F.log_softmax(self.model(x), dim=1)
            results = results + out
            conf, pred = out.exp().max(dim=1)
            sle_mask = conf > self.threshold
            pseudo_split_masks["train"] = pseudo_split_masks["train"].logical_or(sle_mask)
            pseudo_labels[sle_mask] = pred[sle_mask]
            pseudo_labels[split_masks["train"]] = y[split_masks["train"]]
            x = adj @ x
            final = results.argmax(1)
            val = (final[split_masks["valid"]] == y[split_masks["valid"]]).float().mean()
            test = (final[split_masks["test"]] == y[split_masks["test"]]).float().mean()
            print(f"hop {hop} loss {loss:.4f} confident {int(sle_mask.sum())} valid {val:.4f} test {test:.4f}")


x, adj, y, masks = make_graph()
ens = Ensemble(x.shape[1], int(y.max()) + 1)
ens.train_and_test(x, adj, y, masks)
