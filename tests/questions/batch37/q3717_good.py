import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--num_run", type=int, default=4)
parser.add_argument("--num_epoch", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(args.seed)


class LinkPredictor(nn.Module):
    def __init__(self, n_nodes, dim=16):
        super().__init__()
        self.memory = nn.Embedding(n_nodes, dim)
        self.gnn = nn.Linear(dim, dim)
        self.link_pred = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, src, dst):
        h_src = torch.tanh(self.gnn(self.memory(src)))
        h_dst = torch.tanh(self.gnn(self.memory(dst)))
        return self.link_pred(torch.cat([h_src, h_dst], 1)).squeeze(1)


n_nodes = 150
group = torch.randint(0, 3, (n_nodes,))


def make_edges(n):
    src, dst = torch.randint(0, n_nodes, (n,)), torch.randint(0, n_nodes, (n,))
    label = (group[src] == group[dst]).float()
    return src, dst, label


train_data, test_data = make_edges(1500), make_edges(600)
criterion = nn.BCEWithLogitsLoss()
scores = []

for run_idx in range(args.num_run):
    torch.manual_seed(args.seed + run_idx)
    model = LinkPredictor(n_nodes)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.num_epoch):
        model.train()
        total = 0.0
        for idx in torch.randperm(1500).split(50):
            src, dst, label = (t[idx] for t in train_data)
            optimizer.zero_grad()
            loss = criterion(model(src, dst), label)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"run {run_idx} epoch {epoch} loss {total / 30:.4f}")
    model.eval()
    with torch.no_grad():
        hits = (model(test_data[0], test_data[1]) > 0).float() == test_data[2]
    scores.append(hits.float().mean().item())
    print(f"run {run_idx} test accuracy {scores[-1]:.3f}")

scores = torch.tensor(scores)
print(f"test accuracy over the runs {scores.mean():.3f} +- {scores.std():.3f}")
