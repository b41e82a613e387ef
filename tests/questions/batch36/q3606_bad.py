import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


class SDT(nn.Module):
    def __init__(self, input_dim, output_dim, depth=4):
        super().__init__()
        self.depth = depth
        self.internal_num = 2 ** depth - 1
        self.leaf_num = 2 ** depth
        self.inner_nodes = nn.Sequential(nn.Linear(input_dim + 1, self.internal_num, bias=False), nn.Sigmoid())
        self.leaf_nodes = nn.Linear(self.leaf_num, output_dim, bias=False)

    def forward(self, X):
        batch_size = X.shape[0]
        X = torch.cat((torch.ones(batch_size, 1), X), 1)
        path_prob = self.inner_nodes(X).unsqueeze(2)
        path_prob = torch.cat((path_prob, 1 - path_prob), dim=2)
        mu = torch.ones(batch_size, 1, 1)
        begin, end = 0, 1
        for layer in range(self.depth):
            probs = path_prob[:, begin:end, :]
            mu = mu.view(batch_size, -1, 1).repeat(1, 1, 2) * probs
            begin, end = end, 2 ** (layer + 2) - 1
        return self.leaf_nodes(mu.view(batch_size, self.leaf_num))


centers = torch.randn(6, 20)
y = torch.randint(0, 6, (1800,))
x = centers[y] + 0.6 * torch.randn(1800, 20)
train_loader = DataLoader(TensorDataset(x[:1280], y[:1280]), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(x[1280:], y[1280:]), batch_size=64)

tree = SDT(20, 6)
optimizer = torch.optim.Adam(tree.parameters(), lr=1e-2, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    tree.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        output = tree(data)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch_idx % 10 == 0:
            correct = output.argmax(1).eq(target).sum().item()
            accuracy = correct / len(train_loader.dataset)
            print(f"Epoch {epoch:02d} | Batch {batch_idx:03d} | Loss {loss.item():.4f} | Train acc {accuracy:.4f}")
    tree.eval()
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            correct += tree(data).argmax(1).eq(target).sum().item()
    print(f"Epoch {epoch:02d} | Test acc {correct / len(test_loader.dataset):.4f}")
