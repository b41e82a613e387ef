import torch
import torch.nn as nn
import torch.nn.functional as F


class DecoderRNN(nn.Module):
    def __init__(self, CNN_embed_dim=12, h_RNN=48, h_FC_dim=32, num_classes=4):
        super().__init__()
        self.LSTM = nn.LSTM(input_size=CNN_embed_dim, hidden_size=h_RNN, num_layers=1)
        self.fc1 = nn.Linear(h_RNN, h_FC_dim)
        self.fc2 = nn.Linear(h_FC_dim, num_classes)

    def forward(self, x_RNN):
        RNN_out, _ = self.LSTM(x_RNN, None)
        x = F.relu(self.fc1(RNN_out[:, -1, :]))
        return self.fc2(x)


def make_clips(n, frames=12, features=12, actions=4):
    generator = torch.Generator().manual_seed(11)
    poses = torch.randn(5, features, generator=generator)
    y = torch.randint(actions, (n,))
    start = torch.randint(5, (n, 1))
    pace = torch.tensor([1, 2, 3, 4])[y].view(-1, 1)
    index = (start + pace * torch.arange(frames)) % 5
    return poses[index] + 0.3 * torch.randn(n, frames, features), y


def accuracy(model, x, y, batch_size):
    hits = 0
    with torch.no_grad():
        for clips, labels in zip(x.split(batch_size), y.split(batch_size), strict=True):
            hits += (model(clips).argmax(1) == labels).sum().item()
    return hits / len(y)


def main():
    torch.manual_seed(0)
    x, y = make_clips(1200)
    test_x, test_y = make_clips(400)
    model = DecoderRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 10):
        for rows in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 0:
            print(
                f"epoch {epoch:2d}: loss {loss.item():.4f}  test acc {accuracy(model, test_x, test_y, 40):.4f}"
            )
    with torch.no_grad():
        together = model(test_x[:40])[39]
        single = model(test_x[39:40])[0]
    print("scores of one clip within a batch:", [round(v, 3) for v in together.tolist()])
    print("scores of the same clip by itself:", [round(v, 3) for v in single.tolist()])


if __name__ == "__main__":
    main()
