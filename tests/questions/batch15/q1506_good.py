import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, input_size, output_size, hidden_size):
        super().__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class MoE(nn.Module):
    def __init__(self, input_size, output_size, num_experts, hidden_size, k):
        super().__init__()
        self.k, self.num_experts = k, num_experts
        self.experts = nn.ModuleList(Expert(input_size, output_size, hidden_size) for _ in range(num_experts))
        self.w_gate = nn.Parameter(0.2 * torch.randn(input_size, num_experts))

    def top_k_gating(self, x):
        logits = x @ self.w_gate
        top_k_gates, top_k_indices = F.softmax(logits, dim=1).topk(self.k, dim=1)
        return torch.zeros_like(logits).scatter(1, top_k_indices, top_k_gates)

    def forward(self, x):
        gates = self.top_k_gating(x)
        out = torch.zeros(len(x), self.experts[0].fc2.out_features)
        for e, expert in enumerate(self.experts):
            rows = gates[:, e].nonzero().squeeze(1)
            out = out.index_add(0, rows, gates[rows, e, None] * expert(x[rows]))
        return out, gates


class Block(nn.Module):
    def __init__(self, width, classes, k):
        super().__init__()
        self.embed = nn.Linear(width, 16)
        self.moe = MoE(16, 16, num_experts=6, hidden_size=8, k=k)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        h = self.embed(x)
        y, gates = self.moe(h)
        return self.head(h + y), gates


def make_data(n, kinds=6, classes=4, width=12):
    centers = 2.5 * torch.randn(kinds, width)
    rules = torch.randn(kinds, width, classes)
    kind = torch.randint(kinds, (n,))
    noise = torch.randn(n, width)
    x = centers[kind] + noise
    return x, torch.einsum("nw,nwc->nc", noise, rules[kind]).argmax(1)


def main():
    torch.manual_seed(0)
    x, y = make_data(5000)
    train_x, train_y, test_x, test_y = x[:4000], y[:4000], x[4000:], y[4000:]
    model = Block(x.shape[1], 4, k=1)
    start = model.moe.w_gate.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(1, 17):
        total = 0.0
        for rows in torch.randperm(len(train_x)).split(100):
            loss = F.cross_entropy(model(train_x[rows])[0], train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows) / len(train_x)
        if epoch % 4 == 0:
            with torch.no_grad():
                logits, gates = model(test_x)
            accuracy = (logits.argmax(1) == test_y).float().mean()
            load = " ".join(f"{v:.2f}" for v in (gates > 0).float().mean(0).tolist())
            moved = (model.moe.w_gate - start).norm().item()
            print(
                f"epoch {epoch:2d}: loss {total:.3f}  test acc {accuracy:.3f}  load {load}  w_gate moved {moved:.4f}"
            )


if __name__ == "__main__":
    main()
