import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderLstm(nn.Module):
    def __init__(self, input_size=3, hidden_size=32, num_layers=1):
        super().__init__()
        self.hidden_size, self.num_layers = hidden_size, num_layers
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)

    def forward(self, lstm_in):
        lstm_hidden_state = torch.randn(self.num_layers, lstm_in.shape[0], self.hidden_size)
        lstm_cell_state = torch.randn(self.num_layers, lstm_in.shape[0], self.hidden_size)
        lstm_out, _ = self.lstm(lstm_in, (lstm_hidden_state, lstm_cell_state))
        return lstm_out[:, -1, :]


class PredictionNet(nn.Module):
    def __init__(self, future=6):
        super().__init__()
        self.future = future
        self.encoder_lstm = EncoderLstm()
        self.decoder = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2 * future))

    def forward(self, displacements):
        features = self.encoder_lstm(displacements)
        return self.decoder(features).view(-1, self.future, 2).cumsum(dim=1)


def make_tracks(n, past=5, future=6):
    heading = 6.283 * torch.rand(n, 1)
    turn = 0.3 * torch.randn(n, 1)
    speed = 0.5 + torch.rand(n, 1)
    steps = torch.arange(past + future).float()
    angle = heading + turn * steps
    moves = torch.stack([speed * angle.cos(), speed * angle.sin()], dim=-1)
    seen = torch.cat([moves[:, :past] + 0.02 * torch.randn(n, past, 2), torch.ones(n, past, 1)], dim=-1)
    return seen, moves[:, past:].cumsum(dim=1)


def evaluate(model, seen, gt):
    model.eval()
    with torch.no_grad():
        out = model(seen)
    ade = (out - gt).norm(dim=-1).mean().item()
    return ade, out


def main():
    torch.manual_seed(0)
    seen, gt = make_tracks(2000)
    val_seen, val_gt = make_tracks(400)
    model = PredictionNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 31):
        model.train()
        for rows in torch.randperm(len(seen)).split(64):
            loss = F.smooth_l1_loss(model(seen[rows]), gt[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 10 == 0:
            print(f"epoch {epoch:2d}: ade_val {evaluate(model, val_seen, val_gt)[0]:.4f}")
    first, out_first = evaluate(model, val_seen, val_gt)
    second, out_second = evaluate(model, val_seen, val_gt)
    print(f"same validation set twice in eval mode: {first:.6f} and {second:.6f}")
    print(f"largest difference of a predicted point: {(out_first - out_second).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
