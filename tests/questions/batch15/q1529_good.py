from collections import OrderedDict

import torch
from torch import nn

SEQ_LEN, PRED_LEN = 24, 8


def client_series(cid, count=400):
    generator = torch.Generator().manual_seed(cid)
    steps = torch.arange(count, dtype=torch.float32)
    wave = torch.sin(2 * torch.pi * steps / 12) + 0.5 * torch.sin(2 * torch.pi * steps / 30 + cid)
    series = wave + 0.1 * torch.randn(count, generator=generator)
    windows = series.unfold(0, SEQ_LEN + PRED_LEN, 1)
    return windows[:, :SEQ_LEN], windows[:, SEQ_LEN:]


def build_model():
    return nn.Sequential(nn.Linear(SEQ_LEN, 64), nn.ReLU(), nn.Linear(64, PRED_LEN))


class ForecastExp:
    def __init__(self, cid):
        self.model = build_model()
        x, y = client_series(cid)
        self.train_data, self.test_data = (x[:280], y[:280]), (x[300:], y[300:])

    def train(self, epochs):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        x, y = self.train_data
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(32):
                loss = nn.functional.mse_loss(self.model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return loss.item()

    @torch.no_grad()
    def test(self):
        x, y = self.test_data
        return nn.functional.mse_loss(self.model(x), y).item()


class ForecastClient:
    def __init__(self, cid):
        self.cid = cid
        self.exp = ForecastExp(cid)

    def get_parameters(self):
        return [value.numpy().copy() for value in self.exp.model.state_dict().values()]

    def set_parameters(self, parameters):
        names = self.exp.model.state_dict().keys()
        state = OrderedDict({name: torch.tensor(value) for name, value in zip(names, parameters)})
        self.exp.model.load_state_dict(state, strict=True)

    def fit(self, parameters):
        self.set_parameters(parameters)
        loss = self.exp.train(epochs=3)
        return self.get_parameters(), len(self.exp.train_data[0]), loss

    def evaluate(self, parameters):
        self.set_parameters(parameters)
        return self.exp.test(), len(self.exp.test_data[0])


def aggregate(results):
    total = sum(count for _, count, _ in results)
    return [
        sum(layer * count / total for layer, count in zip(layers, [c for _, c, _ in results]))
        for layers in zip(*[parameters for parameters, _, _ in results])
    ]


def main():
    torch.manual_seed(0)
    clients = [ForecastClient(cid) for cid in range(4)]
    parameters = [value.numpy() for value in build_model().state_dict().values()]
    for server_round in range(6):
        results = [client.fit(parameters) for client in clients]
        parameters = aggregate(results)
        losses = [client.evaluate(parameters) for client in clients]
        test = sum(loss * count for loss, count in losses) / sum(count for _, count in losses)
        fit = " ".join(f"{loss:.3f}" for _, _, loss in results)
        print(f"round {server_round + 1}: losses at the end of fit {fit}  distributed test loss {test:.4f}")


if __name__ == "__main__":
    main()
