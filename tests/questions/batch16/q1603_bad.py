import torch
import torch.nn as nn
import torch.nn.functional as F


class GRU4REC(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, num_layers=1, embedding_dim=24):
        super().__init__()
        self.hidden_size, self.num_layers = hidden_size, num_layers
        self.look_up = nn.Embedding(input_size, embedding_dim)
        self.gru = nn.GRU(embedding_dim, hidden_size, num_layers)
        self.h2o = nn.Linear(hidden_size, output_size)

    def init_hidden(self, batch_size):
        return torch.zeros(self.num_layers, batch_size, self.hidden_size)

    def forward(self, input, hidden):
        embedded = self.look_up(input.unsqueeze(0))
        output, hdden = self.gru(embedded, hidden)
        logit = self.h2o(output.view(-1, output.size(-1)))
        return logit, hidden


def make_sessions(n, items=30, length=8):
    genre = torch.randint(3, (n,))
    sessions = torch.empty(n, length, dtype=torch.long)
    sessions[:, 0] = genre * (items // 3) + torch.randint(items // 3, (n,))
    shift = torch.tensor([1, 4, 9])[genre]
    for t in range(1, length):
        follow = (sessions[:, t - 1] + shift) % items
        wander = torch.randint(items, (n,))
        sessions[:, t] = torch.where(torch.rand(n) < 0.9, follow, wander)
    return sessions


def run_sessions(model, sessions):
    hidden = model.init_hidden(len(sessions))
    loss, hits = 0.0, 0.0
    for t in range(sessions.shape[1] - 1):
        logit, hidden = model(sessions[:, t], hidden)
        target = sessions[:, t + 1]
        loss = loss + F.cross_entropy(logit, target)
        hits = hits + (logit.argmax(1) == target).float().mean().item()
    steps = sessions.shape[1] - 1
    return loss / steps, hits / steps


def main():
    torch.manual_seed(0)
    train, valid = make_sessions(1500), make_sessions(300)
    model = GRU4REC(30, 48, 30)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 16):
        for rows in torch.randperm(len(train)).split(50):
            loss, _ = run_sessions(model, train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            with torch.no_grad():
                val_loss, recall = run_sessions(model, valid)
            print(f"epoch {epoch:2d}: valid loss {val_loss.item():.4f}  recall@1 {recall:.4f}")


if __name__ == "__main__":
    main()
