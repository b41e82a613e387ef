import torch
from torch import nn

torch.manual_seed(0)


class HandRNN(nn.Module):
    def __init__(self, n_in, hidden, layers):
        super().__init__()
        self.rnn = nn.RNN(n_in, hidden, layers)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, hx=None):
        rnn = self.rnn
        params = dict(rnn.named_parameters())
        seq_len, batch_size, _ = x.size()
        if hx is None:
            hx = torch.zeros(rnn.num_layers, batch_size, rnn.hidden_size)
        h_t_minus_1 = hx.clone()
        output = []
        for t in range(seq_len):
            h_t = []
            for layer in range(rnn.num_layers):
                input_t = x[t] if layer == 0 else h_t[layer - 1]
                h_t.append(torch.tanh(
                    input_t @ params[f"weight_ih_l{layer}"].T
                    + h_t_minus_1[layer] @ params[f"weight_hh_l{layer}"].T
                    + params[f"bias_hh_l{layer}"]
                    + params[f"bias_ih_l{layer}"]
                ))
            output.append(h_t[-1])
            h_t_minus_1 = torch.stack(h_t)
        return self.out(torch.stack(output)[-1]).squeeze(-1)


def batch(n):
    x = torch.randn(8, n, 3)
    return x, x[:3, :, 0].sum(0) - x[-1, :, 1]


def main():
    model = HandRNN(3, 16, 2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(120):
        x, y = batch(32)
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, f"{loss.item():.4f}")
    print(f"last loss {loss.item():.4f}")


main()
